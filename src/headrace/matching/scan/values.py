"""Values that somebody wants: put into cells, those of lists and the keys of maps into cells of elements."""

from __future__ import annotations

from headrace.matching.extraction.cells import FALSE, LIST, MAP, NULL, STRING, TRUE
from headrace.matching.machine import Address, byte_at, compiled, inlined
from headrace.matching.scan.buffers import FULL, Columns, Room, Text, cell_of
from headrace.matching.scan.numbers import read_number
from headrace.matching.scan.skips import after_colon, after_space, literal_end, skip_value
from headrace.matching.scan.strings import FAULT, string_end


@inlined
def read_value(at: Address, end: Address, text: Text, wants_elements: int, cell: Columns, room: Room) -> int:
    """Put a value into its cell, with its elements if they are wanted."""
    byte = byte_at(at)
    if byte not in (0x7B, 0x5B):
        return _read_scalar(at, end, text, cell)
    cell.kind[0] = MAP if byte == 0x7B else LIST
    if not wants_elements:
        return skip_value(at, end, text.limit)
    if byte == 0x7B:
        return read_keys(at, end, text, cell, room)
    return _read_list(at, end, text, cell, room)


@inlined
def _read_scalar(at: Address, end: Address, text: Text, cell: Columns) -> int:
    byte = byte_at(at)
    if byte == 0x22:
        return _read_string(at, end, text, cell)
    if byte == 0x2D or 0x30 <= byte <= 0x39:
        return read_number(at, end, cell)
    cell.kind[0] = NULL if byte == 0x6E else TRUE if byte == 0x74 else FALSE
    return literal_end(at, end)


@inlined
def _read_string(at: Address, end: Address, text: Text, cell: Columns) -> int:
    """Put a string into its cell; the length of one with escapes is negative, until they are taken out."""
    close = string_end(at + 1, end, text.limit)
    if close < 0:
        return FAULT
    length = (close >> 1) - at - 1
    if close & 1:
        text.state.escapes = 1
        length = -length
    cell.kind[0] = STRING
    cell.start[0] = at + 1 - text.base
    cell.length[0] = length
    return (close >> 1) + 1


@compiled
def _read_list(at: Address, end: Address, text: Text, cell: Columns, room: Room) -> int:
    """Put each element of a list into an element's cell; of lists and maps in it the kind alone."""
    first = used = room.state.used
    at = after_space(at + 1, end)
    closed = at < end and byte_at(at) == 0x5D
    at += closed
    while not closed:
        if at >= end:
            return FAULT
        if used == room.state.capacity:
            return FULL
        at = _read_element(at, end, text, cell_of(room.columns, used))
        if at < 0:
            return FAULT
        used += 1
        at, closed = _after_comma(at, end, 0x5D)
    return _note_elements(at, cell, room, first, used)


@compiled
def _read_element(at: Address, end: Address, text: Text, cell: Columns) -> int:
    byte = byte_at(at)
    if byte not in (0x7B, 0x5B):
        return _read_scalar(at, end, text, cell)
    cell.kind[0] = MAP if byte == 0x7B else LIST
    return skip_value(at, end, text.limit)


@compiled
def read_keys(at: Address, end: Address, text: Text, cell: Columns, room: Room) -> int:
    """Put each key of a map into an element's cell."""
    first = used = room.state.used
    at = after_space(at + 1, end)
    closed = at < end and byte_at(at) == 0x7D
    at += closed
    while not closed:
        if at >= end or byte_at(at) != 0x22:
            return FAULT
        if used == room.state.capacity:
            return FULL
        at = _read_string(at, end, text, cell_of(room.columns, used))
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
def _after_comma(at: Address, end: Address, closing: int) -> tuple[int, bool]:
    """Go from an element to the next one, or past the end of the list or map; to `end` if neither is there."""
    at = after_space(at, end)
    if at >= end:
        return end, False
    byte = byte_at(at)
    if byte == closing:
        return at + 1, True
    return (after_space(at + 1, end) if byte == 0x2C else end), False


@compiled
def _note_elements(at: Address, cell: Columns, room: Room, first: int, used: int) -> int:
    cell.start[0] = first
    cell.length[0] = used - first
    room.state.used = used
    return at
