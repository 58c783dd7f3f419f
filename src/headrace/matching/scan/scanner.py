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
from headrace.matching.scan.machine import (
    WIDTH,
    byte_at,
    compiled,
    kernel,
    put_byte,
    put_half,
    put_word,
    word_at,
)
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
    WORDS,
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
    """The addresses of a `PathTrie`, and of the last document in which each node was seen."""

    nodes: int
    slots: int
    last_slot: int
    keys: int
    seen: int


class _Columns(NamedTuple):
    """The addresses of cells: those of a row, or the elements'."""

    kind: int
    number: int
    start: int
    length: int


class _Room(NamedTuple):
    """The elements' cells: `used` is the address of how many are in use."""

    columns: _Columns
    capacity: int
    used: int


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


@kernel
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
    place = _Text(_address(text), _address(text) + text.size - WIDTH)
    tree = _Tree(_address(nodes), _address(slots), len(slots) - 1, _address(keys), _address(seen))
    columns = _Columns(_address(kind), _address(number), _address(start), _address(length))
    room = _Room(
        _Columns(
            _address(element_kind),
            _address(element_number),
            _address(element_start),
            _address(element_length),
        ),
        element_kind.size,
        _address(state) + 8,
    )
    for document in range(state[0], starts.size):
        state[0] = document
        first, end = starts[document], ends[document]
        cell = rows[document] * fields
        if not (0 <= first <= end <= text.size and 0 <= cell <= kind.size - fields):
            return _BROKEN
        cells = _cell(columns, cell)
        used = state[1]
        _forget(tree.nodes, len(nodes), cells.kind)
        verdict = _walk(place.base + first, place.base + end, document, place, tree, cells, room)
        if verdict < 0:
            state[1] = used
            _forget(tree.nodes, len(nodes), cells.kind)
            if verdict == _FULL:
                seen[:] = -1
                return _FULL
            odd[document] = True
    return 0


@compiled
def _address(array: npt.NDArray[np.generic]) -> int:
    return np.int64(array.ctypes.data)  # type: ignore[return-value]


@compiled
def _of(table: int, row: int, column: int) -> int:
    """Read a table of the tree."""
    return word_at(table + (row * WORDS + column) * 8)


@compiled
def _forget(nodes: int, count: int, kind: int) -> None:
    for node in range(count):
        field = _of(nodes, node, FIELD)
        if field >= 0:
            put_byte(kind + field, NOWHERE)


@compiled
def _cell(columns: _Columns, number: int) -> _Columns:
    return _Columns(
        columns.kind + number,
        columns.number + 8 * number,
        columns.start + 8 * number,
        columns.length + 4 * number,
    )


@compiled
def _walk(  # noqa: C901, PLR0912 - one loop over the document, so that nothing is called back
    at: int, end: int, document: int, text: _Text, tree: _Tree, cells: _Columns, room: _Room
) -> int:
    """Read one document. Returns 0, or a negative number if it is odd or there is no room."""
    holder = _of(tree.nodes, 0, PARENT)  # the node of the innermost open object, -1 outside of all
    node = holder + 1  # that of the value which comes next, or -1 if nobody wants it
    at = after_space(at, end)
    if at >= end:
        return FAULT
    while True:
        if node < 0:
            at = skip_value(at, end, text.limit)
        elif byte_at(at) == 0x7B and _of(tree.nodes, node, COUNT) > 0:
            at = _enter(at, end, text, tree.nodes, node, cells, room)
            if at < 0:
                return at
            if byte_at(at) == 0x7D:
                at += 1
            else:
                holder = node
                at, node = _key(at, end, document, text, tree, holder)
                if at < 0:
                    return FAULT
                continue
        elif _of(tree.nodes, node, FIELD) < 0:
            at = skip_value(at, end, text.limit)
        else:
            cell = _cell(cells, _of(tree.nodes, node, FIELD))
            at = _read(at, end, text, _of(tree.nodes, node, ELEMENTS), cell, room)
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
            holder = _of(tree.nodes, holder, PARENT)
        at, node = _key(after_space(at, end), end, document, text, tree, holder)
        if at < 0:
            return FAULT


@compiled
def _enter(at: int, end: int, text: _Text, nodes: int, node: int, cells: _Columns, room: _Room) -> int:
    """Go into an object that may hold something wanted; return where its first key or its end is."""
    if _of(nodes, node, LEVEL) >= _DEEPEST:
        return FAULT
    field = _of(nodes, node, FIELD)
    if field >= 0:
        put_byte(cells.kind + field, MAP)
        if _of(nodes, node, ELEMENTS):
            after = _read_keys(at, end, text, _cell(cells, field), room)
            if after < 0:
                return after
    first = _of(nodes, node, FIRST)
    for child in range(first, first + _of(nodes, node, COUNT)):
        field = _of(nodes, child, FIELD)
        if field >= 0:
            put_byte(cells.kind + field, ABSENT)
    at = after_space(at + 1, end)
    return at if at < end else FAULT


@compiled
def _key(at: int, end: int, document: int, text: _Text, tree: _Tree, holder: int) -> tuple[int, int]:
    """Read a key; return where its value is, and its node."""
    if at >= end or byte_at(at) != 0x22:
        return FAULT, -1
    close = string_end(at + 1, end, text.limit)
    if close < 0 or close & 1:
        return FAULT, -1
    close >>= 1
    node = _find(at + 1, close - at - 1, text.limit, tree, holder)
    if node >= 0:
        seen = tree.seen + 8 * node
        if word_at(seen) == document:
            return FAULT, -1
        put_word(seen, document)
    return after_colon(close + 1, end), node


@compiled
def _find(at: int, length: int, limit: int, tree: _Tree, holder: int) -> int:
    hashed = hash_of(at, length, limit, holder)
    slot = hashed & tree.last_slot
    while True:
        node = _of(tree.slots, slot, CHILD)
        if node == 0:
            return -1
        if (
            _of(tree.slots, slot, HASH) == hashed
            and _of(tree.slots, slot, HOLDER) == holder
            and _of(tree.slots, slot, LENGTH) == length
            and is_same(at, tree.keys + _of(tree.slots, slot, START), length, limit)
        ):
            return node
        slot = (slot + 1) & tree.last_slot


@compiled
def _read(at: int, end: int, text: _Text, wants_elements: int, cell: _Columns, room: _Room) -> int:
    """Put a value into its cell, with its elements if they are wanted."""
    byte = byte_at(at)
    if byte != 0x7B and byte != 0x5B:
        return _read_scalar(at, end, text, cell)
    put_byte(cell.kind, MAP if byte == 0x7B else LIST)
    if not wants_elements:
        return skip_value(at, end, text.limit)
    if byte == 0x7B:
        return _read_keys(at, end, text, cell, room)
    return _read_list(at, end, text, cell, room)


@compiled
def _read_scalar(at: int, end: int, text: _Text, cell: _Columns) -> int:
    byte = byte_at(at)
    if byte == 0x22:
        return _read_string(at, end, text, cell)
    if byte == 0x2D or 0x30 <= byte <= 0x39:
        return read_number(at, end, cell.kind, cell.number)
    put_byte(cell.kind, NULL if byte == 0x6E else TRUE if byte == 0x74 else FALSE)
    return literal_end(at, end)


@compiled
def _read_string(at: int, end: int, text: _Text, cell: _Columns) -> int:
    close = string_end(at + 1, end, text.limit)
    if close < 0 or close & 1:
        return FAULT
    put_byte(cell.kind, STRING)
    put_word(cell.start, at + 1 - text.base)
    put_half(cell.length, (close >> 1) - at - 1)
    return (close >> 1) + 1


@compiled
def _read_list(at: int, end: int, text: _Text, cell: _Columns, room: _Room) -> int:
    """Put each element of a list into an element's cell; of lists and maps in it the kind alone."""
    first = used = word_at(room.used)
    at = after_space(at + 1, end)
    closed = at < end and byte_at(at) == 0x5D
    at += closed
    while not closed:
        if at >= end:
            return FAULT
        if used == room.capacity:
            return _FULL
        at = _read_element(at, end, text, _cell(room.columns, used))
        if at < 0:
            return FAULT
        used += 1
        at, closed = _after_comma(at, end, 0x5D)
    return _note_elements(at, cell, room, first, used)


@compiled
def _read_element(at: int, end: int, text: _Text, cell: _Columns) -> int:
    byte = byte_at(at)
    if byte != 0x7B and byte != 0x5B:
        return _read_scalar(at, end, text, cell)
    put_byte(cell.kind, MAP if byte == 0x7B else LIST)
    return skip_value(at, end, text.limit)


@compiled
def _read_keys(at: int, end: int, text: _Text, cell: _Columns, room: _Room) -> int:
    """Put each key of a map into an element's cell."""
    first = used = word_at(room.used)
    at = after_space(at + 1, end)
    closed = at < end and byte_at(at) == 0x7D
    at += closed
    while not closed:
        if at >= end or byte_at(at) != 0x22:
            return FAULT
        if used == room.capacity:
            return _FULL
        at = _read_string(at, end, text, _cell(room.columns, used))
        if at < 0:
            return FAULT
        used += 1
        at = after_colon(at, end)
        if at < 0:
            return FAULT
        at = skip_value(at, end, text.limit)
        if at < 0:
            return FAULT
        at, closed = _after_comma(at, end, 0x7D)
    return _note_elements(at, cell, room, first, used)


@compiled
def _after_comma(at: int, end: int, closing: int) -> tuple[int, bool]:
    """Go from an element to the next one, or past the end of the list or map; to `end` if neither is there."""
    at = after_space(at, end)
    if at >= end:
        return end, False
    byte = byte_at(at)
    if byte == closing:
        return at + 1, True
    return (after_space(at + 1, end) if byte == 0x2C else end), False


@compiled
def _note_elements(at: int, cell: _Columns, room: _Room, first: int, used: int) -> int:
    put_word(cell.start, first)
    put_half(cell.length, used - first)
    put_word(room.used, used)
    return at
