"""Matches as pairs of row and member: one number each, with the row in its upper half, so that sorted pairs go by row.

Where thousands match, the time goes to what is done with pairs: every pass over them counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.tables import addresses
from headrace.matching.machine import half_at, kernel, put_half, put_word, word_at

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]

NOBODY = np.empty(0, np.int64)
_MEMBER = 0xFFFFFFFF


def rows_of(pairs: Numbers) -> Numbers:
    """Return the rows of pairs."""
    return pairs >> 32


def members_of(pairs: Numbers) -> Numbers:
    """Return the members of pairs."""
    return pairs & _MEMBER


def pairs_of(rows: Numbers | int, members: Numbers | int) -> Numbers:
    """Return the pairs of these rows and members."""
    upper: Numbers = np.left_shift(rows, 32, dtype=np.int64)
    return upper | members


def spread(pairs: Numbers, positions: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return the position and the member of each pair, given the positions of all rows; in one pass."""
    found, members = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int32)
    whole = np.ascontiguousarray(positions)
    _spread(*addresses([pairs, whole, found, members]).tolist(), len(pairs))
    return found, members


@kernel
def _spread(pairs: Any, positions: Any, found: Any, members: Any, count: Any) -> Any:
    for each in range(count):
        put_word(found + 8 * each, word_at(positions + 8 * (word_at(pairs + 8 * each) >> 32)))
        put_half(members + 4 * each, half_at(pairs + 8 * each))
