"""Which intervals hold a value: a segment tree over the sorted ends, asked by one walk from a leaf to the root.

The leaves are the ends and the gaps between them: leaf 2i + 1 is the end i, leaf 2i the gap before it. An interval is
filed under the few nodes that together cover its leaves, so that a walk meets it exactly once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headrace.matching.machine import kernel

if TYPE_CHECKING:
    from headrace.matching.index.tables import Longs, Shorts


@kernel
def cover(first: Longs, last: Longs, leaves: int, nodes: Longs, owner: Longs) -> int:
    """List the nodes that cover the leaves first..last of every interval; return how many these are.

    With empty arrays it only counts.
    """
    count = 0
    for each in range(len(first)):
        low = first[each] + leaves
        high = last[each] + leaves + 1
        while low < high:
            if low & 1:
                if count < len(nodes):
                    nodes[count] = low
                    owner[count] = each
                count += 1
                low += 1
            if high & 1:
                high -= 1
                if count < len(nodes):
                    nodes[count] = high
                    owner[count] = each
                count += 1
            low >>= 1
            high >>= 1
    return count


def filed(first: Longs, last: Longs, leaves: int) -> tuple[Longs, Longs]:
    """Return the nodes that intervals are filed under, and for each of these the interval's number."""
    nothing = np.empty(0, np.int64)
    first, last = first.astype(np.int64), last.astype(np.int64)
    count = cover(first, last, leaves, nothing, nothing)
    nodes, owner = np.empty(count, np.int64), np.empty(count, np.int64)
    cover(first, last, leaves, nodes, owner)
    return nodes, owner


def nearest_above(used: Longs, first: int, leaves: int) -> Shorts:
    """Return for each node of a tree the list of the nearest used one at or above it; -1: there is none.

    The lists of used nodes, which are sorted, have the numbers from `first` on.
    """
    nearest = np.full(2 * leaves, -1, np.int32)
    nearest[used] = first + np.arange(len(used))
    _hand_down(nearest)
    return nearest


@kernel
def _hand_down(nearest: Shorts) -> None:
    for node in range(2, len(nearest)):
        if nearest[node] < 0:
            nearest[node] = nearest[node >> 1]
