"""Which ranges a value lies in: its leaf is found among the sorted ends, and the lists above the leaf are visited."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.extraction.cells import DOUBLE, INT
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.kernels.memory import long, order_of, short
from headrace.matching.index.kernels.values import constant_text, ordered
from headrace.matching.index.kernels.visits import visit
from headrace.matching.machine import compiled, inlined


@inlined
def list_of_number(t: Any, slot: Any, kind: Any, number: Any) -> Any:
    """Return the first list of the ranges that a number lies in; -1: there is none."""
    if kind not in (INT, DOUBLE):
        return np.int64(-1)
    tree = short(t, T.SLOT_TREE, 3 * slot + (0 if kind == INT else 1))
    if tree < 0:
        return np.int64(-1)
    return _list(t, tree, _leaf_of_number(t, tree, number if kind == INT else ordered(number)))


@inlined
def list_of_text(t: Any, slot: Any, text: Any, length: Any) -> Any:
    """Return the first list of the ranges that a text lies in; -1: there is none."""
    tree = short(t, T.SLOT_TREE, 3 * slot + 2)
    return np.int64(-1) if tree < 0 else _list(t, tree, _leaf_of_text(t, tree, text, length))


@inlined
def visit_above(t: Any, c: Any, o: Any, group: Any, list_: Any, row: Any, n: Any) -> Any:
    """Visit a list, and those of the nodes above its own; -1: none."""
    first = short(t, T.TREE_LIST, 0)
    while list_ >= 0:
        if not visit(t, c, o, group, list_, row, n):
            return False
        list_ = short(t, T.LIST_ABOVE, list_ - first)
    return True


@inlined
def _list(t: Any, tree: Any, leaf: Any) -> Any:
    # A tree has a leaf for each cut, one before each, and one after the last.
    return short(t, T.LEAF_LIST, 2 * long(t, T.TREE_AT, tree) + tree + leaf)


@inlined
def _leaf_of_number(t: Any, tree: Any, value: Any) -> Any:
    """Halve the cuts without a branch: which half it is can't be foreseen, and waiting for memory is cheaper."""
    first, last = long(t, T.TREE_AT, tree), long(t, T.TREE_AT, tree + 1)
    low, size = first, last - first
    while size > 0:
        half = (size + 1) >> 1
        low += half if long(t, T.CUTS, low + half - 1) < value else 0
        size -= half
    exact = low < last and long(t, T.CUTS, low) == value
    return 2 * (low - first) + np.int64(exact)


@compiled
def _leaf_of_text(t: Any, tree: Any, text: Any, length: Any) -> Any:
    first, high = long(t, T.TREE_AT, tree), long(t, T.TREE_AT, tree + 1)
    low = first
    while low < high:
        middle = (low + high) >> 1
        other, size = constant_text(t, long(t, T.CUTS, middle))
        order = order_of(other, size, text, length)
        if order == 0:
            return 2 * (middle - first) + 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - first)
