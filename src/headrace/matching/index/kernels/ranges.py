"""Which ranges a value lies in: its leaf is found among the sorted ends, and the lists above the leaf are visited."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.matching.extraction.cells import DOUBLE, INT
from headrace.matching.index.kernels.texts import order_of
from headrace.matching.index.kernels.values import constant_text, ordered
from headrace.matching.index.kernels.visits import visit
from headrace.matching.machine import Address, compiled, inlined

if TYPE_CHECKING:
    from headrace.matching.index.kernels.records import CellPointers, Counts, RoomPointers, TablePointers


@inlined
def list_of_number(t: TablePointers, slot: int, kind: int, number: int) -> int:
    """Return the first list of the ranges that a number lies in; -1: there is none."""
    if kind not in (INT, DOUBLE):
        return -1
    trees = t.slot_tree[slot]
    tree = trees.integers if kind == INT else trees.doubles
    if tree < 0:
        return -1
    return _list(t, tree, _leaf_of_number(t, tree, number if kind == INT else ordered(number)))


@inlined
def list_of_text(t: TablePointers, slot: int, text: Address, length: int) -> int:
    """Return the first list of the ranges that a text lies in; -1: there is none."""
    tree = t.slot_tree[slot].texts
    return -1 if tree < 0 else _list(t, tree, _leaf_of_text(t, tree, text, length))


@inlined
def visit_above(
    t: TablePointers, c: CellPointers, o: RoomPointers, group: int, list_: int, row: int, n: Counts
) -> bool:
    """Visit a list, and those of the nodes above its own; -1: none."""
    first = t.tree_list[0]
    while list_ >= 0:
        if not visit(t, c, o, group, list_, row, n):
            return False
        list_ = t.list_above[list_ - first]
    return True


@inlined
def _list(t: TablePointers, tree: int, leaf: int) -> int:
    # A tree has a leaf for each cut, one before each, and one after the last.
    return t.leaf_list[2 * t.tree_at[tree] + tree + leaf]


@inlined
def _leaf_of_number(t: TablePointers, tree: int, value: int) -> int:
    """Halve the cuts without a branch: which half it is can't be foreseen, and waiting for memory is cheaper."""
    first, last = t.tree_at[tree], t.tree_at[tree + 1]
    low, size = first, last - first
    while size > 0:
        half = (size + 1) >> 1
        low += half if t.cuts[low + half - 1] < value else 0
        size -= half
    exact = low < last and t.cuts[low] == value
    return 2 * (low - first) + int(exact)


@compiled
def _leaf_of_text(t: TablePointers, tree: int, text: Address, length: int) -> int:
    first, high = t.tree_at[tree], t.tree_at[tree + 1]
    low = first
    while low < high:
        middle = (low + high) >> 1
        other, size = constant_text(t, t.cuts[middle])
        order = order_of(other, size, text, length)
        if order == 0:
            return 2 * (middle - first) + 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - first)
