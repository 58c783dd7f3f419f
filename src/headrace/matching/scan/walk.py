"""The walk through a document, along the keys that lead to something wanted."""

from __future__ import annotations

from headrace.matching.extraction.cells import ABSENT, MAP
from headrace.matching.machine import byte_at, inlined, put_byte, put_word, word_at
from headrace.matching.scan.buffers import Columns, Room, Text, Tree, cell_of, entry
from headrace.matching.scan.skips import after_colon, after_space, skip_value
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
)
from headrace.matching.scan.values import read_keys, read_value

_DEEPEST = 39  # levels of wanted maps; with a list and the levels of a skipped value no more than the reference takes


@inlined
def walk(  # noqa: C901, PLR0911, PLR0912 - one loop over the document, so that nothing is called back
    at: int, end: int, document: int, text: Text, tree: Tree, cells: Columns, room: Room
) -> int:
    """Read one document. Returns 0, or a negative number if it is odd or there is no room."""
    holder = entry(tree.nodes, 0, PARENT)  # the node of the innermost open object, -1 outside of all
    node = holder + 1  # that of the value which comes next, or -1 if nobody wants it
    at = after_space(at, end)
    if at >= end:
        return FAULT
    while True:
        if node < 0:
            at = skip_value(at, end, text.limit)
        elif byte_at(at) == 0x7B and entry(tree.nodes, node, COUNT) > 0:
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
        elif entry(tree.nodes, node, FIELD) < 0:
            at = skip_value(at, end, text.limit)
        else:
            cell = cell_of(cells, entry(tree.nodes, node, FIELD))
            at = read_value(at, end, text, entry(tree.nodes, node, ELEMENTS), cell, room)
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
            holder = entry(tree.nodes, holder, PARENT)
        at, node = _key(after_space(at, end), end, document, text, tree, holder)
        if at < 0:
            return FAULT


@inlined
def _enter(at: int, end: int, text: Text, nodes: int, node: int, cells: Columns, room: Room) -> int:
    """Go into an object that may hold something wanted; return where its first key or its end is."""
    if entry(nodes, node, LEVEL) >= _DEEPEST:
        return FAULT
    field = entry(nodes, node, FIELD)
    if field >= 0:
        put_byte(cells.kind + field, MAP)
        if entry(nodes, node, ELEMENTS):
            after = read_keys(at, end, text, cell_of(cells, field), room)
            if after < 0:
                return after
    first = entry(nodes, node, FIRST)
    for child in range(first, first + entry(nodes, node, COUNT)):
        field = entry(nodes, child, FIELD)
        if field >= 0:
            put_byte(cells.kind + field, ABSENT)
    at = after_space(at + 1, end)
    return at if at < end else FAULT


@inlined
def _key(at: int, end: int, document: int, text: Text, tree: Tree, holder: int) -> tuple[int, int]:
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


@inlined
def _find(at: int, length: int, limit: int, tree: Tree, holder: int) -> int:
    hashed = hash_of(at, length, limit, holder)
    slot = hashed & tree.last_slot
    while True:
        node = entry(tree.slots, slot, CHILD)
        if node == 0:
            return -1
        if (
            entry(tree.slots, slot, HASH) == hashed
            and entry(tree.slots, slot, HOLDER) == holder
            and entry(tree.slots, slot, LENGTH) == length
            and is_same(at, tree.keys + entry(tree.slots, slot, START), length, limit)
        ):
            return node
        slot = (slot + 1) & tree.last_slot
