"""Where kernels find things: the addresses of the text, of the wanted paths, and of cells."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from headrace.matching.extraction.cells import NOWHERE
from headrace.matching.machine import inlined, put_byte, word_at
from headrace.matching.scan.trie import FIELD, WORDS

FULL = -2
"""There is no room for another element."""


class Text(NamedTuple):
    """Where the text lies: `limit` is the last address from which a whole block may be loaded.

    `escapes` is the address of a number that isn't 0 once a wanted string had an escape.
    """

    base: int
    limit: int
    escapes: int


class Tree(NamedTuple):
    """The addresses of a `PathTrie`, and of the last document in which each node was seen."""

    nodes: int
    slots: int
    last_slot: int
    keys: int
    seen: int


class Columns(NamedTuple):
    """The addresses of cells: those of a row, or the elements'."""

    kind: int
    number: int
    start: int
    length: int


class Room(NamedTuple):
    """The elements' cells: `used` is the address of how many are in use."""

    columns: Columns
    capacity: int
    used: int


@inlined
def address_of(array: npt.NDArray[Any]) -> int:
    """Return where an array begins. It must outlive what is done there."""
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


@inlined
def entry(table: int, row: int, column: int) -> int:
    """Look into a table of the tree."""
    return word_at(table + (row * WORDS + column) * 8)


@inlined
def cell_of(columns: Columns, number: int) -> Columns:
    """Return the addresses of one cell among several."""
    return Columns(
        columns.kind + number,
        columns.number + 8 * number,
        columns.start + 8 * number,
        columns.length + 4 * number,
    )


@inlined
def forget(nodes: int, count: int, kind: int) -> None:
    """Make all wanted cells of a row NOWHERE."""
    for node in range(count):
        field = entry(nodes, node, FIELD)
        if field >= 0:
            put_byte(kind + field, NOWHERE)
