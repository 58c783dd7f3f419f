"""Where kernels find things: the addresses of the text, of the wanted paths, and of cells."""

from __future__ import annotations

from typing import NamedTuple

from headrace.matching.extraction.cells import NOWHERE
from headrace.matching.machine import Address, Byte, Long, Many, Record, Short, inlined
from headrace.matching.scan.trie import Node, Slot

FULL = -2
"""There is no room for another element."""


class ScanPointers(Record):
    """The arrays of a scan: text, documents, the `PathTrie`, cells, elements, when nodes were seen, odd documents."""

    text: Address
    starts: Many[Long]
    ends: Many[Long]
    rows: Many[Long]
    nodes: Many[Node]
    slots: Many[Slot]
    keys: Address
    kind: Many[Byte]
    number: Many[Long]
    start: Many[Long]
    length: Many[Short]
    element_kind: Many[Byte]
    element_number: Many[Long]
    element_start: Many[Long]
    element_length: Many[Short]
    seen: Many[Long]
    odd: Many[Byte]


class State(Record):
    """The document that is scanned, elements in use, whether a wanted string had an escape; then sizes, as told."""

    document: Long
    used: Long
    escapes: Long
    capacity: Long
    documents: Long
    text_size: Long
    nodes: Long
    last_slot: Long
    fields: Long
    cells: Long


class Text(NamedTuple):
    """Where the text lies: `limit` is the last address from which a whole block may be loaded."""

    base: Address
    limit: Address
    state: State


class Tree(NamedTuple):
    """A `PathTrie`, and the last document in which each node was seen."""

    nodes: Many[Node]
    slots: Many[Slot]
    last_slot: int
    keys: Address
    seen: Many[Long]


class Columns(NamedTuple):
    """Cells: from a row's first one on, from a single one on, or the elements'."""

    kind: Many[Byte]
    number: Many[Long]
    start: Many[Long]
    length: Many[Short]


class Room(NamedTuple):
    """The elements' cells, of which the state says how many there are and are in use."""

    columns: Columns
    state: State


@inlined
def cell_of(columns: Columns, number: int) -> Columns:
    """Return one cell among several."""
    return Columns(
        columns.kind + number, columns.number + number, columns.start + number, columns.length + number
    )


@inlined
def forget(nodes: Many[Node], count: int, kind: Many[Byte]) -> None:
    """Make all wanted cells of a row NOWHERE."""
    for node in range(count):
        field = nodes[node].field
        if field >= 0:
            kind[field] = NOWHERE
