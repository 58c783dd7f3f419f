"""Matches as pairs of row and member: one number each, with the row in its upper half, so that sorted pairs go by row.

Where thousands match, the time goes to what is done with pairs: every pass over them counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.machine import Address, Long, Many, Record, Short, address_of, addresses, kernel

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


class _Spread(Record):
    pairs: Many[Long]
    positions: Many[Long]
    found: Many[Long]
    members: Many[Short]


def spread(pairs: Numbers, positions: npt.NDArray[np.int64]) -> tuple[Numbers, Numbers]:
    """Return the position and the member of each pair, given the positions of all rows; in one pass."""
    found, members = np.empty(len(pairs), np.int64), np.empty(len(pairs), np.int32)
    whole = np.ascontiguousarray(positions)
    arrays = addresses(_Spread, (pairs, whole, found, members))
    _spread(address_of(arrays), len(pairs))
    return found, members


@kernel
def _spread(arrays: Address, count: int) -> None:
    a = _Spread(arrays)
    pairs, positions, found, members = a.pairs, a.positions, a.found, a.members
    for each in range(count):
        pair = pairs[each]
        found[each] = positions[pair >> 32]
        members[each] = pair
