"""The checks of a draft, group by group: the same check in two channels is two questions, with keys of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import is_one_of, owners, indices
from headrace.matching.index.build.source import HIGH, LOW
from headrace.matching.rules.checks import (
    CONTAINS,
    CONTAINS_NOT,
    ENDS,
    ENDS_NOT,
    EQUAL,
    INCLUDES,
    INCLUDES_NOT,
    NO_KEY,
    NONE_OF,
    ONE_OF,
    STARTS,
    STARTS_NOT,
    UNEQUAL,
)

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.build.source import Draft

    Numbers = npt.NDArray[Any]

_OF_TEXT = (STARTS, STARTS_NOT, ENDS, ENDS_NOT, CONTAINS, CONTAINS_NOT)


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions by number, the alternatives' pairs of questions, and slots: each field that a group asks about.

    Questions are sorted by group, so that a group's slots and keys lie together.
    """

    alternatives: int
    pair_alternative: Numbers
    pair_question: Numbers
    alternative_group: Numbers
    groups: Numbers  # channels, of the catalogue
    group: Numbers
    check: Numbers
    code: Numbers
    slot: Numbers
    key: Numbers  # -1: none
    opposite: Numbers  # the question that this one negates
    text_about: npt.NDArray[np.bool_]  # whether it asks for one text at its beginning, end or inside
    text_length: Numbers
    slots: int
    slot_group: Numbers
    slot_operand: Numbers
    set_at: Numbers  # by question
    set_element: Numbers  # questions

    def elements(self, question: int) -> Numbers:
        """Return the questions of which a set consists."""
        return self.set_element[self.set_at[question] : self.set_at[question + 1]]


def questions_of(draft: Draft) -> Questions:
    """Number the questions, slots and keys of a draft."""
    groups, form_group = np.unique(draft.form_channel, return_inverse=True)
    alternative_group = np.repeat(form_group, draft.form_lengths)
    pair_alternative = owners(draft.alternative_lengths)
    checks = len(draft.code)
    asked = alternative_group[pair_alternative] * checks + draft.pair_check
    numbers = _with_references(np.unique(asked), draft)
    group, check = np.divmod(numbers, max(checks, 1))
    code = draft.code[check]
    operands = int(draft.operand.max(initial=0)) + 1
    slot_numbers, slot = np.unique(group * operands + draft.operand[check], return_inverse=True)
    is_set = code == ONE_OF
    lengths = np.where(is_set, draft.values[check, HIGH] - draft.values[check, LOW], 0)
    starts = np.where(is_set, draft.values[check, LOW], 0)
    elements = draft.sets[indices(starts, starts + lengths)]
    opposite = is_one_of(code, (UNEQUAL, INCLUDES_NOT, NONE_OF))
    negated = np.where(opposite, draft.values[check, LOW], 0)
    text_length = np.zeros(len(code), np.int64)
    of_text = is_one_of(code, _OF_TEXT)
    text_length[of_text] = np.diff(draft.text_at)[draft.values[check[of_text], LOW]]
    return Questions(
        alternatives=len(draft.alternative_rest),
        pair_alternative=pair_alternative,
        pair_question=np.searchsorted(numbers, asked),
        alternative_group=alternative_group,
        groups=groups,
        group=group,
        check=check,
        code=code,
        slot=slot,
        key=_keys(draft, check, code, text_length),
        opposite=np.where(opposite, np.searchsorted(numbers, group * checks + negated), -1),
        text_about=of_text,
        text_length=text_length,
        slots=len(slot_numbers),
        slot_group=slot_numbers // operands,
        slot_operand=slot_numbers % operands,
        set_at=np.concatenate(([0], np.cumsum(lengths))),
        set_element=np.searchsorted(numbers, np.repeat(group, lengths) * checks + elements),
    )


def _with_references(numbers: Numbers, draft: Draft) -> Numbers:
    """Add, in the same group, the questions that opposites and sets speak of."""
    checks = max(len(draft.code), 1)
    group, check = np.divmod(numbers, checks)
    opposite = is_one_of(draft.code[check], (UNEQUAL, INCLUDES_NOT, NONE_OF))
    numbers = np.union1d(numbers, group[opposite] * checks + draft.values[check[opposite], LOW])
    group, check = np.divmod(numbers, checks)
    is_set = draft.code[check] == ONE_OF
    starts, ends = draft.values[check[is_set], LOW], draft.values[check[is_set], HIGH]
    elements = draft.sets[indices(starts, ends)]
    return np.union1d(numbers, np.repeat(group[is_set], ends - starts) * checks + elements)


def _keys(draft: Draft, check: Numbers, code: Numbers, text_length: Numbers) -> Numbers:
    constant = is_one_of(code, (EQUAL, INCLUDES)) & (draft.values[check, LOW] != NO_KEY)
    text = is_one_of(code, (STARTS, ENDS)) & (text_length > 0)
    has_key = constant | text
    return np.where(has_key, np.cumsum(has_key) - 1, -1)
