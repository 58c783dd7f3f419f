"""The columns of a group: what is looked up of each of its rows, and so what the key of a row can be asked for.

After the one whose key is the same in every row come the equalities of slots, then their beginnings, then their ends,
one column for each length in use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.build.ragged import ends_of
from headrace.matching.index.kernels.records import ALWAYS, COLUMN_OF_SLOTS
from headrace.matching.rules.checks import ENDS, EQUAL, STARTS

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.build.check_groups import Questions

    Numbers = npt.NDArray[Any]


@dataclass(frozen=True, slots=True)
class Columns:
    """By question the column that decides it, `ALWAYS` where none does; and slot by slot the lengths in use."""

    of_question: Numbers
    start_at: Numbers
    start_length: Numbers
    end_at: Numbers
    end_length: Numbers


def columns_of(questions: Questions) -> Columns:
    """Number the columns of every group."""
    groups = np.arange(len(questions.groups) + 1)
    slots = np.searchsorted(questions.slot_group, groups)
    first, last = slots[questions.group], slots[questions.group + 1]
    of_question = np.full(len(questions.code), ALWAYS)
    equal = questions.code == EQUAL
    of_question[equal] = (COLUMN_OF_SLOTS + questions.slot - first)[equal]
    start_at, start_length, starts = _lengths(questions, STARTS)
    end_at, end_length, ends = _lengths(questions, ENDS)
    base = COLUMN_OF_SLOTS + last - first
    for (rows, numbers), at in (starts, start_at), (ends, end_at):
        of_question[rows] = (base - at[first])[rows] + numbers
        base = base + at[last] - at[first]
    return Columns(of_question, start_at, start_length, end_at, end_length)


def _lengths(questions: Questions, code: int) -> tuple[Numbers, Numbers, tuple[Numbers, Numbers]]:
    """Return, slot by slot, which lengths of prefix or suffix are in use; and whose questions are about which."""
    rows = np.flatnonzero((questions.code == code) & (questions.key >= 0))
    if len(rows) == 0:
        return np.zeros(questions.slots + 1, np.int32), np.empty(0, np.int32), (rows, rows)
    longest = int(questions.text_length[rows].max()) + 1
    used, numbers = np.unique(
        questions.slot[rows] * longest + questions.text_length[rows], return_inverse=True
    )
    at = ends_of(used // longest, questions.slots, np.int32)
    return at, (used % longest).astype(np.int32), (rows, numbers)
