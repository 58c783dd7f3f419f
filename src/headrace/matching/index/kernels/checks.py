"""Whether a check holds of a row, for all that isn't decided by look-ups."""

from __future__ import annotations

from headrace.filters.values.budget import LONGEST_SCANNED, MOST_SEARCHED, SEARCHED
from headrace.matching.extraction.cells import ABSENT, DOUBLE, INT, LIST, MAP, NULL, STRING
from headrace.matching.index.kernels.keys import INLINE, INLINE_AT
from headrace.matching.index.kernels.records import (
    COLUMN_OF_SLOTS,
    CellPointers,
    Check,
    Counts,
    RoomPointers,
    TablePointers,
)
from headrace.matching.index.kernels.texts import is_same, order_of
from headrace.matching.index.kernels.values import constant_text, key_of_element, ordered
from headrace.matching.machine import Address, address, byte_at, compiled
from headrace.matching.rules.checks import (
    BETWEEN,
    CONTAINS,
    CONTAINS_NOT,
    ENDS,
    ENDS_NOT,
    EQUAL,
    HAS,
    INCLUDES,
    INCLUDES_NOT,
    LACKS,
    NONE_OF,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    STARTS,
    STARTS_NOT,
    UNEQUAL,
    WITHIN,
)


@compiled
def is_too_long(text: Address, length: int) -> bool:
    """Say whether a text has more characters than a clause may search; what it contains is unknown then."""
    return length > LONGEST_SCANNED and _characters_at(text, length) > LONGEST_SCANNED


@compiled
def _characters_at(text: Address, length: int) -> int:
    characters = 0
    for offset in range(length):
        characters += (byte_at(text + offset) & 0xC0) != 0x80
    return characters


@compiled
def is_too_dear(t: TablePointers, number: int, count: int) -> bool:
    """Say whether it costs more than a clause may to look for a constant among so many elements."""
    key = t.keys[number]
    length = key.tag
    characters = key.characters if length > INLINE else _characters_at(address(key) + INLINE_AT, length)
    return count * (SEARCHED + characters) > MOST_SEARCHED


@compiled
def _occurs(other: Address, size: int, text: Address, length: int) -> bool:
    for offset in range(length - size + 1):  # noqa: SIM110 -- kernels have no generators
        if is_same(text + offset, other, size):
            return True
    return False


@compiled
def _is_at(other: Address, size: int, text: Address, length: int, from_end: bool) -> bool:
    if size > length:
        return False
    return is_same(text + length - size if from_end else text, other, size)


@compiled
def _in_set(t: TablePointers, set_: int, key: int) -> bool:
    if key < 0:
        return False
    low, last = t.set_at[set_], t.set_at[set_ + 1]
    high = last
    while low < high:
        middle = (low + high) >> 1
        if t.set_key[middle] < key:
            low = middle + 1
        else:
            high = middle
    return low < last and t.set_key[low] == key


@compiled
def _in_interval(t: TablePointers, value: int, kind: int, number: int) -> bool:
    interval = t.interval[value]
    if kind == INT:
        return interval.low <= number <= interval.high
    if kind == DOUBLE:
        return interval.low_double <= ordered(number) <= interval.high_double
    return False


@compiled
def _in_span(t: TablePointers, value: int, text: Address, length: int) -> bool:
    span = t.span[value]
    if span.low >= 0:
        other, size = constant_text(t, span.low)
        order = order_of(text, length, other, size)
        if order < 0 or (order == 0 and span.open & OPEN_BELOW):
            return False
    if span.high >= 0:
        other, size = constant_text(t, span.high)
        order = order_of(text, length, other, size)
        if order > 0 or (order == 0 and span.open & OPEN_ABOVE):
            return False
    return True


@compiled
def _includes(
    t: TablePointers, c: CellPointers, group: int, slot: int, wanted: int, first: int, count: int, n: Counts
) -> bool:
    for element in range(first, first + count):
        key = key_of_element(t, c, group, slot, element, n)
        if key >= 0 and key == wanted:
            return True
    return False


@compiled
def _holds_of_text(
    t: TablePointers, code: int, value: int, size: int, text: Address, length: int, n: Counts
) -> bool:
    if code == BETWEEN:
        return _in_span(t, value, text, length)
    other = t.text + value
    if code in (STARTS, STARTS_NOT):
        return _is_at(other, size, text, length, False) == (code == STARTS)
    if code in (ENDS, ENDS_NOT):
        return _is_at(other, size, text, length, True) == (code == ENDS)
    if code in (CONTAINS, CONTAINS_NOT):
        if is_too_long(text, length):
            return n.lenient != 0
        return _occurs(other, size, text, length) == (code == CONTAINS)
    return False


@compiled
def _holds_of_key(t: TablePointers, code: int, value: int, key: int) -> bool:
    if code == EQUAL:
        return key >= 0 and key == value
    if code == UNEQUAL:
        return value < 0 or key != value
    return _in_set(t, value, key) == (code == ONE_OF)


@compiled
def holds(  # noqa: PLR0911 -- one per kind of check
    t: TablePointers, c: CellPointers, o: RoomPointers, group: int, check: Check, row: int, n: Counts
) -> bool:
    """Say whether a check is true of a row."""
    code, local, value = check.code, check.slot, check.value
    cell = row * n.width + c.columns[local]
    kind = c.kind[cell]
    if code == LACKS:
        return kind == ABSENT
    if kind < NULL:
        return False
    if code == HAS:
        return True
    if code in (EQUAL, UNEQUAL, ONE_OF, NONE_OF):
        return _holds_of_key(t, code, value, o.keys[COLUMN_OF_SLOTS + local])
    if code == WITHIN:
        return _in_interval(t, value, kind, c.number[cell])
    if code in (INCLUDES, INCLUDES_NOT):
        if kind not in (LIST, MAP):
            return False
        if kind == LIST and value >= 0 and is_too_dear(t, value, c.length[cell]):
            return n.lenient != 0
        slot = t.group_at[group] + local
        found = _includes(t, c, group, slot, value, c.start[cell], c.length[cell], n)
        return found == (code == INCLUDES)
    if kind != STRING:
        return False
    return _holds_of_text(t, code, value, check.size, c.text + c.start[cell], c.length[cell], n)
