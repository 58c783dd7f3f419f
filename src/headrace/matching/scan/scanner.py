"""The walk over each document: what stands at wanted paths goes to cells, all else is passed over and checked.

A document is `odd` when the walk isn't certain to read it as the filters' reference does: it is malformed or
may be; a wanted string, or a key beside wanted ones, has an escape; a wanted key stands twice; a wanted number
is beyond 64 bits or beyond what `numbers` can round; it is deeper than the reference surely takes.
"""

from __future__ import annotations

from typing import NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from headrace.matching.cells import ABSENT, FALSE, LIST, MAP, NOWHERE, NULL, STRING, TRUE, Cells
from headrace.matching.scan.machine import WIDTH, byte_at, compiled
from headrace.matching.scan.numbers import read_number
from headrace.matching.scan.skipping import after_colon, after_space, literal_end, skip_value
from headrace.matching.scan.strings import FAULT, hash_of, is_same, string_end
from headrace.matching.scan.trie import (
    CHILD,
    COUNT,
    ELEMENTS,
    FIELD,
    FIRST,
    HASH,
    HOLDER,
    LENGTH,
    LEVEL,
    PARENT,
    START,
    PathTrie,
)

_FULL = -2
_BROKEN = -3
_DEEPEST = 40  # levels of wanted maps; with those of a skipped value still no more than the reference takes

_Bytes: TypeAlias = npt.NDArray[np.uint8]
_Ints: TypeAlias = npt.NDArray[np.int64]
_Shorts: TypeAlias = npt.NDArray[np.int32]


class _Text(NamedTuple):
    """Where the text lies: `limit` is the last address from which a whole block may be loaded."""

    base: int
    limit: int


class _Tree(NamedTuple):
    nodes: _Ints
    slots: _Ints
    keys: int


class _Columns(NamedTuple):
    """The arrays of cells, or of elements, in one dimension."""

    kind: _Bytes
    number: _Ints
    start: _Ints
    length: _Shorts


def scan(
    text: npt.NDArray[np.uint8],
    starts: npt.NDArray[np.int64],
    ends: npt.NDArray[np.int64],
    rows: npt.NDArray[np.int64],
    trie: PathTrie,
    cells: Cells,
) -> npt.NDArray[np.bool_]:
    """Fill the cells of the given rows: document i is text[starts[i]:ends[i]] and goes to cells row rows[i].

    Returns `odd`: documents that must be read by other means; their cells are NOWHERE. Documents and rows that
    don't lie in the text and the cells raise `IndexError`.
    """
    odd = np.zeros(len(starts), np.bool_)
    elements = cells.elements
    state = np.array([0, elements.used], np.int64)  # the next document, elements in use
    seen = np.full(len(trie.nodes), -1, np.int64)
    documents = _frozen(text, np.uint8), _frozen(starts), _frozen(ends), _frozen(rows)
    tree = _frozen(trie.nodes), _frozen(trie.slots), _frozen(trie.keys, np.uint8)
    flat = cells.kind.ravel(), cells.number.ravel(), cells.start.ravel(), cells.length.ravel()
    while True:
        room = elements.kind, elements.number, elements.start, elements.length
        verdict = _scan_all(*documents, *tree, cells.kind.shape[1], *flat, *room, state, seen, odd)
        elements.used = int(state[1])
        if verdict != _FULL:
            break
        elements.grow()
    if verdict == _BROKEN:
        raise IndexError(f"document {state[0]} or its row lies outside of the text or the cells")
    return odd


def _frozen(array: npt.NDArray[np.generic], kind: type[np.generic] = np.int64) -> npt.NDArray[np.generic]:
    """Make a view that can't be written: then the kernel is compiled once, for arrays from anywhere."""
    view = np.ascontiguousarray(array, kind).view()
    view.flags.writeable = False
    return view


@compiled
def _scan_all(
    text: _Bytes,
    starts: _Ints,
    ends: _Ints,
    rows: _Ints,
    nodes: _Ints,
    slots: _Ints,
    keys: _Bytes,
    fields: int,
    kind: _Bytes,
    number: _Ints,
    start: _Ints,
    length: _Shorts,
    element_kind: _Bytes,
    element_number: _Ints,
    element_start: _Ints,
    element_length: _Shorts,
    state: _Ints,
    seen: _Ints,
    odd: npt.NDArray[np.bool_],
) -> int:
    """Scan from the document in `state` on, to the last one or to the one that finds no room for elements."""
    place = _Text(text.ctypes.data, text.ctypes.data + text.size - WIDTH)
    tree = _Tree(nodes, slots, keys.ctypes.data)
    cells = _Columns(kind, number, start, length)
    elements = _Columns(element_kind, element_number, element_start, element_length)
    for document in range(state[0], starts.size):
        state[0] = document
        first, end = starts[document], ends[document]
        row = rows[document] * fields
        if not (0 <= first <= end <= text.size and 0 <= row <= kind.size - fields):
            return _BROKEN
        used = state[1]
        _forget(nodes, kind, row)
        verdict = _walk(place.base + first, place.base + end, place, tree, row, cells, elements, state, seen)
        if verdict < 0:
            state[1] = used
            _forget(nodes, kind, row)
            if verdict == _FULL:
                seen[:] = -1
                return _FULL
            odd[document] = True
    return 0


@compiled
def _forget(nodes: _Ints, kind: _Bytes, row: int) -> None:
    for node in range(nodes.shape[0]):
        if nodes[node, FIELD] >= 0:
            kind[row + nodes[node, FIELD]] = NOWHERE


@compiled
def _walk(  # noqa: C901, PLR0912 - one loop over the document, so that nothing is called back
    at: int,
    end: int,
    text: _Text,
    tree: _Tree,
    row: int,
    cells: _Columns,
    elements: _Columns,
    state: _Ints,
    seen: _Ints,
) -> int:
    """Read one document. Returns 0, or a negative number if it is odd or there is no room."""
    holder = -1  # the node of the innermost open object
    node = 0  # that of the value which comes next, or -1 if nobody wants it
    at = after_space(at, end)
    if at >= end:
        return FAULT
    while True:
        if node < 0:
            at = skip_value(at, end, text.limit)
        elif byte_at(at) == 0x7B and tree.nodes[node, COUNT] > 0:
            at = _enter(at, end, text, tree.nodes, node, row, cells, elements, state)
            if at < 0:
                return at
            if byte_at(at) == 0x7D:
                at += 1
            else:
                holder = node
                at, node = _key(at, end, text, tree, holder, seen, state[0])
                if at < 0:
                    return FAULT
                continue
        elif tree.nodes[node, FIELD] < 0:
            at = skip_value(at, end, text.limit)
        else:
            cell = row + tree.nodes[node, FIELD]
            at = _read(at, end, text, tree.nodes[node, ELEMENTS], cell, cells, elements, state)
        if at < 0:
            return at
        while True:
            at = after_space(at, end)
            if holder < 0:
                return 0 if at == end else FAULT
            if at >= end:
                return FAULT
            byte = byte_at(at)
            at += 1
            if byte == 0x2C:
                break
            if byte != 0x7D:
                return FAULT
            holder = tree.nodes[holder, PARENT]
        at, node = _key(after_space(at, end), end, text, tree, holder, seen, state[0])
        if at < 0:
            return FAULT


@compiled
def _enter(
    at: int,
    end: int,
    text: _Text,
    nodes: _Ints,
    node: int,
    row: int,
    cells: _Columns,
    elements: _Columns,
    state: _Ints,
) -> int:
    """Go into an object that may hold something wanted; return where its first key or its end is."""
    if nodes[node, LEVEL] >= _DEEPEST:
        return FAULT
    if nodes[node, FIELD] >= 0:
        cell = row + nodes[node, FIELD]
        cells.kind[cell] = MAP
        if nodes[node, ELEMENTS]:
            after = _read_keys(at, end, text, cell, cells, elements, state)
            if after < 0:
                return after
    for child in range(nodes[node, FIRST], nodes[node, FIRST] + nodes[node, COUNT]):
        if nodes[child, FIELD] >= 0:
            cells.kind[row + nodes[child, FIELD]] = ABSENT
    at = after_space(at + 1, end)
    return at if at < end else FAULT


@compiled
def _key(
    at: int, end: int, text: _Text, tree: _Tree, holder: int, seen: _Ints, document: int
) -> tuple[int, int]:
    """Read a key; return where its value is, and its node."""
    if at >= end or byte_at(at) != 0x22:
        return FAULT, -1
    close = string_end(at + 1, end, text.limit)
    if close < 0 or close & 1:
        return FAULT, -1
    close >>= 1
    node = _find(at + 1, close - at - 1, text.limit, tree, holder)
    if node >= 0:
        if seen[node] == document:
            return FAULT, -1
        seen[node] = document
    return after_colon(close + 1, end), node


@compiled
def _find(at: int, length: int, limit: int, tree: _Tree, holder: int) -> int:
    hashed = hash_of(at, length, limit, holder)
    last = tree.slots.shape[0] - 1
    slot = hashed & last
    while tree.slots[slot, CHILD]:
        if (
            tree.slots[slot, HASH] == hashed
            and tree.slots[slot, HOLDER] == holder
            and tree.slots[slot, LENGTH] == length
            and is_same(at, tree.keys + tree.slots[slot, START], length, limit)
        ):
            return tree.slots[slot, CHILD]
        slot = (slot + 1) & last
    return -1


@compiled
def _read(
    at: int, end: int, text: _Text, wants_elements: int, cell: int, cells: _Columns, elements: _Columns, state: _Ints
) -> int:
    """Put a value into its cell, with its elements if they are wanted."""
    byte = byte_at(at)
    if byte != 0x7B and byte != 0x5B:
        return _read_scalar(at, end, text, cell, cells)
    cells.kind[cell] = MAP if byte == 0x7B else LIST
    if not wants_elements:
        return skip_value(at, end, text.limit)
    if byte == 0x7B:
        return _read_keys(at, end, text, cell, cells, elements, state)
    return _read_list(at, end, text, cell, cells, elements, state)


@compiled
def _read_scalar(at: int, end: int, text: _Text, cell: int, cells: _Columns) -> int:
    byte = byte_at(at)
    if byte == 0x22:
        return _read_string(at, end, text, cell, cells)
    if byte == 0x2D or 0x30 <= byte <= 0x39:
        return read_number(at, end, cells.kind, cells.number, cell)
    cells.kind[cell] = NULL if byte == 0x6E else TRUE if byte == 0x74 else FALSE
    return literal_end(at, end)


@compiled
def _read_string(at: int, end: int, text: _Text, cell: int, cells: _Columns) -> int:
    close = string_end(at + 1, end, text.limit)
    if close < 0 or close & 1:
        return FAULT
    cells.kind[cell] = STRING
    cells.start[cell] = at + 1 - text.base
    cells.length[cell] = (close >> 1) - at - 1
    return (close >> 1) + 1


@compiled
def _read_list(
    at: int, end: int, text: _Text, cell: int, cells: _Columns, elements: _Columns, state: _Ints
) -> int:
    """Put each element of a list into an element's cell; of lists and maps in it the kind alone."""
    first = state[1]
    at = after_space(at + 1, end)
    if at < end and byte_at(at) == 0x5D:
        at += 1
    else:
        while True:
            if at >= end:
                return FAULT
            if state[1] == elements.kind.size:
                return _FULL
            at = _read_element(at, end, text, state[1], elements)
            if at < 0:
                return FAULT
            state[1] += 1
            at = after_space(at, end)
            if at >= end:
                return FAULT
            byte = byte_at(at)
            at += 1
            if byte == 0x5D:
                break
            if byte != 0x2C:
                return FAULT
            at = after_space(at, end)
    cells.start[cell] = first
    cells.length[cell] = state[1] - first
    return at


@compiled
def _read_element(at: int, end: int, text: _Text, cell: int, elements: _Columns) -> int:
    byte = byte_at(at)
    if byte != 0x7B and byte != 0x5B:
        return _read_scalar(at, end, text, cell, elements)
    elements.kind[cell] = MAP if byte == 0x7B else LIST
    return skip_value(at, end, text.limit)


@compiled
def _read_keys(
    at: int, end: int, text: _Text, cell: int, cells: _Columns, elements: _Columns, state: _Ints
) -> int:
    """Put each key of a map into an element's cell."""
    first = state[1]
    at = after_space(at + 1, end)
    if at < end and byte_at(at) == 0x7D:
        at += 1
    else:
        while True:
            if at >= end or byte_at(at) != 0x22:
                return FAULT
            if state[1] == elements.kind.size:
                return _FULL
            at = _read_string(at, end, text, state[1], elements)
            if at < 0:
                return FAULT
            state[1] += 1
            at = after_colon(at, end)
            if at < 0:
                return FAULT
            at = skip_value(at, end, text.limit)
            if at < 0:
                return FAULT
            at = after_space(at, end)
            if at >= end:
                return FAULT
            byte = byte_at(at)
            at += 1
            if byte == 0x7D:
                break
            if byte != 0x2C:
                return FAULT
            at = after_space(at, end)
    cells.start[cell] = first
    cells.length[cell] = state[1] - first
    return at
