"""How lists and the checks that remain lie in memory: what is read together lies together."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import ends_of, picked, indices
from headrace.matching.index.build.source import HIGH, LOW, LOW_DOUBLE
from headrace.matching.index.kernels.records import ALWAYS
from headrace.matching.rules.checks import (
    BETWEEN,
    EQUAL,
    INCLUDES,
    INCLUDES_NOT,
    NONE_OF,
    ONE_OF,
    UNEQUAL,
    WITHIN,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import numpy.typing as npt

    from headrace.matching.index.build.check_groups import Questions
    from headrace.matching.index.build.columns import Columns
    from headrace.matching.index.build.lists import Filing, Lists
    from headrace.matching.index.build.source import Draft

    Numbers = npt.NDArray[Any]


_MOST_POSTED = 8
"""So many members of one filter get posts of their own: to read these is cheaper than to look up whose filter it is."""


def lay_out(draft: Draft, questions: Questions, filing: Filing, columns: Columns) -> dict[str, Numbers]:
    """Lay out the lists, with one check by key of each alternative inlined, and the checks that remain."""
    access, by_presence, lists = filing.access.pair, filing.access.by_presence, filing.lists
    marks = _marks(draft, filing.codes)
    count = questions.alternatives
    done = np.zeros(len(questions.pair_question), np.bool_)
    done[access[(access >= 0) & ~by_presence]] = True
    by_key = ~done & (columns.of_question[questions.pair_question] != ALWAYS)
    inline = np.full(count, -1, np.int64)
    pairs = np.flatnonzero(by_key)[::-1]
    inline[questions.pair_alternative[pairs]] = pairs
    done[inline[inline >= 0]] = True
    first_slot = np.searchsorted(questions.slot_group, np.arange(len(questions.groups)))
    inlined = picked(questions.pair_question, inline, -1)
    column = picked(columns.of_question, inlined, ALWAYS)
    key = picked(questions.key, inlined, 0)
    key[key < 0] = -2  # equal to nothing: no key ever fits

    remaining = np.flatnonzero(~done)
    alternative_at = ends_of(questions.pair_alternative[remaining], count)

    form = np.repeat(np.arange(len(draft.form_lengths)), draft.form_lengths)
    form_at = ends_of(draft.member_form, len(draft.form_channel))
    form_member = draft.members[np.argsort(draft.member_form, kind="stable")]
    members = np.diff(form_at)[form]
    is_posted = (
        (draft.form_lengths[form] == 1)
        & (members <= _MOST_POSTED)
        & (draft.alternative_rest < 0)
        & (np.diff(alternative_at) == 0)
        & ~_by_elements(questions, access)
    )

    first_member = np.where(is_posted, form_at[form], -1)
    return {
        **_posts(lists, column, key, first_member, members, form_member),
        "alternatives": _alternatives(draft, alternative_at, form, form_at, marks),
        **_check_columns(draft, questions, questions.pair_question[remaining], first_slot),
        "form_at": form_at,
        "form_member": form_member.astype(np.int32),
    }


def _posts(
    lists: Lists, column: Numbers, key: Numbers, first_member: Numbers, members: Numbers, form_member: Numbers
) -> dict[str, Numbers]:
    """Lay out the lists; an alternative with a first member has a post for each of its members."""
    numbers = np.concatenate(lists.numbers)
    alternatives = np.concatenate(lists.alternatives)
    order = np.lexsort((key[alternatives], column[alternatives], numbers))
    counts = np.where(first_member >= 0, members, 1)[alternatives[order]]
    order = np.repeat(order, counts)
    alternatives = alternatives[order]
    member = first_member[alternatives] + indices(np.zeros_like(counts), counts)
    posted = first_member[alternatives] >= 0
    who = ~alternatives
    who[posted] = form_member[member[posted]]
    posts = column[alternatives], key[alternatives], who
    return {
        "list_at": ends_of(numbers[order], lists.count),
        "posts": np.stack([each.astype(np.int32) for each in posts], axis=1),
    }


def _alternatives(
    draft: Draft, check_at: Numbers, form: Numbers, form_at: Numbers, marks: Numbers
) -> Numbers:
    columns = (
        check_at[:-1],
        check_at[1:],
        draft.alternative_rest,
        marks[form],
        form_at[form],
        form_at[form + 1],
        form,
        np.zeros_like(form),
    )
    return np.stack([each.astype(np.int32) for each in columns], axis=1)


def _by_elements(questions: Questions, access: Numbers) -> Numbers:
    by_elements: Numbers = (
        picked(questions.code[questions.pair_question].astype(np.int64), access, -1) == INCLUDES
    )
    return by_elements


_NO_CHECKS: Mapping[str, Numbers] = {
    "checks": np.empty((0, 4), np.int32),
    "set_at": np.zeros(1, np.int64),
    "set_key": np.empty(0, np.int32),
    "interval": np.empty((0, 4), np.int64),
    "span": np.empty((0, 3), np.int64),
}


def _check_columns(
    draft: Draft, questions: Questions, asked: Numbers, first_slot: Numbers
) -> dict[str, Numbers]:
    if len(asked) == 0:
        return dict(_NO_CHECKS)
    code = questions.code[asked]
    check = questions.check[asked]
    value = draft.values[check, LOW]
    keyed = (code == EQUAL) | (code == INCLUDES)
    value = np.where(keyed, questions.key[asked], value)
    opposite = (code == UNEQUAL) | (code == INCLUDES_NOT)
    value = np.where(opposite, picked(questions.key, questions.opposite[asked], -1), value)
    sets = np.where(code == ONE_OF, asked, np.where(code == NONE_OF, questions.opposite[asked], -1))
    used_sets, set_number = np.unique(sets, return_inverse=True)
    value = np.where(sets >= 0, set_number - (1 if len(used_sets) and used_sets[0] < 0 else 0), value)
    used_sets = used_sets[used_sets >= 0]
    starts, ends = questions.set_at[used_sets], questions.set_at[used_sets + 1]
    set_key = questions.key[questions.set_element[indices(starts, ends)]]
    set_owner = np.repeat(np.arange(len(used_sets)), ends - starts)
    order = np.lexsort((set_key, set_owner))
    intervals = np.flatnonzero(code == WITHIN)
    value[intervals] = np.arange(len(intervals))
    spans = np.flatnonzero(code == BETWEEN)
    value[spans] = np.arange(len(spans))
    of_text = questions.text_about[asked]
    length = np.where(of_text, questions.text_length[asked], 0)
    value = np.where(of_text, picked(draft.text_at, np.where(of_text, value, -1), 0), value)
    columns = code, questions.slot[asked] - first_slot[questions.group[asked]], value, length
    return {
        "checks": np.stack([each.astype(np.int32) for each in columns], axis=1),
        "set_at": ends_of(set_owner, len(used_sets)),
        "set_key": set_key[order].astype(np.int32),
        "interval": draft.values[check[intervals]],
        "span": np.ascontiguousarray(draft.values[check[spans]][:, [LOW, HIGH, LOW_DOUBLE]]),
    }


def _marks(draft: Draft, codes: Numbers) -> Numbers:
    """Number the forms that one event may find twice: with several alternatives, or by elements of a list."""
    by_elements = np.zeros(len(draft.form_channel), np.bool_)
    by_elements[np.repeat(np.arange(len(draft.form_lengths)), draft.form_lengths)[codes == INCLUDES]] = True
    twice = (draft.form_lengths > 1) | by_elements
    return np.where(twice, np.cumsum(twice) - 1, -1).astype(np.int32)
