"""The walk through a document, along the keys that lead to something wanted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.matching.extraction.cells import ABSENT, MAP
from headrace.matching.machine import Address, Many, byte_at, inlined
from headrace.matching.scan.buffers import Columns, Room, Text, Tree, cell_of
from headrace.matching.scan.skips import after_colon, after_space, skip_value
from headrace.matching.scan.strings import FAULT, hash_of, is_same, string_end
from headrace.matching.scan.values import read_keys, read_value

if TYPE_CHECKING:
    from headrace.matching.scan.trie import Node

_DEEPEST = 39  # levels of wanted maps; with a list and the levels of a skipped value no more than the reference takes


@inlined
def walk(  # noqa: C901, PLR0911, PLR0912 - one loop over the document, so that nothing is called back
    at: Address, end: Address, document: int, text: Text, tree: Tree, cells: Columns, room: Room
) -> int:
    """Read one document. Returns 0, or a negative number if it is odd or there is no room."""
    holder = tree.nodes[0].parent  # the node of the innermost open object, -1 outside of all
    node = holder + 1  # that of the value which comes next, or -1 if nobody wants it
    at = after_space(at, end)
    if at >= end:
        return FAULT
    while True:
        if node < 0:
            at = skip_value(at, end, text.limit)
        elif byte_at(at) == 0x7B and tree.nodes[node].count > 0:
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
        elif tree.nodes[node].field < 0:
            at = skip_value(at, end, text.limit)
        else:
            cell = cell_of(cells, tree.nodes[node].field)
            at = read_value(at, end, text, tree.nodes[node].elements, cell, room)
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
            holder = tree.nodes[holder].parent
        at, node = _key(after_space(at, end), end, document, text, tree, holder)
        if at < 0:
            return FAULT


@inlined
def _enter(
    at: Address, end: Address, text: Text, nodes: Many[Node], node: int, cells: Columns, room: Room
) -> int:
    """Go into an object that may hold something wanted; return where its first key or its end is."""
    if nodes[node].level >= _DEEPEST:
        return FAULT
    field = nodes[node].field
    if field >= 0:
        cells.kind[field] = MAP
        if nodes[node].elements:
            after = read_keys(at, end, text, cell_of(cells, field), room)
            if after < 0:
                return after
    first = nodes[node].first
    for child in range(first, first + nodes[node].count):
        field = nodes[child].field
        if field >= 0:
            cells.kind[field] = ABSENT
    at = after_space(at + 1, end)
    return at if at < end else FAULT


@inlined
def _key(at: Address, end: Address, document: int, text: Text, tree: Tree, holder: int) -> tuple[int, int]:
    """Read a key; return where its value is, and its node."""
    if at >= end or byte_at(at) != 0x22:
        return FAULT, -1
    close = string_end(at + 1, end, text.limit)
    if close < 0 or close & 1:
        return FAULT, -1
    close >>= 1
    node = _find(at + 1, close - at - 1, text.limit, tree, holder)
    if node >= 0:
        if tree.seen[node] == document:
            return FAULT, -1
        tree.seen[node] = document
    return after_colon(close + 1, end), node


@inlined
def _find(at: Address, length: int, limit: Address, tree: Tree, holder: int) -> int:
    hashed = hash_of(at, length, limit, holder)
    place = hashed & tree.last_slot
    while True:
        slot = tree.slots[place]
        if slot.child == 0:
            return -1
        if (
            slot.hash == hashed
            and slot.holder == holder
            and slot.length == length
            and is_same(at, tree.keys + slot.start, length, limit)
        ):
            return slot.child
        place = (place + 1) & tree.last_slot
