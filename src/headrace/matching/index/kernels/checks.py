"""Whether a check holds of a row, for all that isn't decided by look-ups."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.filters.values.budget import LONGEST_SCANNED, MOST_SEARCHED, SEARCHED
from headrace.matching.extraction.cells import ABSENT, DOUBLE, INT, LIST, MAP, NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.kernels.arguments import (
    COLUMN_OF_SLOTS,
    COLUMNS,
    KEYS,
    KIND,
    LENGTH,
    LENIENT,
    NUMBER,
    START,
    TEXT,
    WIDTH,
)
from headrace.matching.index.kernels.keys import INLINE
from headrace.matching.index.kernels.memory import address, byte, is_same, long, order_of, short
from headrace.matching.index.kernels.values import constant_text, key_of_element, ordered
from headrace.matching.machine import (
    byte_at,
    compiled,
    half_at,
    word_at,
)
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
def is_too_long(text: Any, length: Any) -> Any:
    """Say whether a text has more characters than a clause may search; what it contains is unknown then."""
    if length <= LONGEST_SCANNED:
        return False
    characters = 0
    for offset in range(length):
        characters += (byte_at(text + offset) & 0xC0) != 0x80
    return characters > LONGEST_SCANNED


@compiled
def is_too_dear(t: Any, key: Any, count: Any) -> Any:
    """Say whether it costs more than a clause may to look for a constant among so many elements."""
    return count * (SEARCHED + _characters(t, key)) > MOST_SEARCHED


@compiled
def _characters(t: Any, key: Any) -> Any:
    length = long(t, T.KEYS, 4 * key) >> 32
    if length > INLINE:
        return long(t, T.KEYS, 4 * key + 3)
    at, characters = address(t, T.KEYS) + 32 * key + 16, np.int64(0)
    for offset in range(length):
        characters += (byte_at(at + offset) & 0xC0) != 0x80
    return characters


@compiled
def _occurs(other: Any, size: Any, text: Any, length: Any) -> Any:
    for offset in range(length - size + 1):  # noqa: SIM110 -- kernels have no generators
        if is_same(text + offset, other, size):
            return True
    return False


@compiled
def _is_at(other: Any, size: Any, text: Any, length: Any, from_end: Any) -> Any:
    if size > length:
        return False
    return is_same(text + length - size if from_end else text, other, size)


@compiled
def _in_set(t: Any, set_: Any, key: Any) -> Any:
    if key < 0:
        return False
    low, last = long(t, T.SET_AT, set_), long(t, T.SET_AT, set_ + 1)
    high = last
    while low < high:
        middle = (low + high) >> 1
        if short(t, T.SET_KEY, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low < last and short(t, T.SET_KEY, low) == key


@compiled
def _in_interval(t: Any, value: Any, kind: Any, number: Any) -> Any:
    if kind == INT:
        return long(t, T.INTERVAL, 4 * value) <= number <= long(t, T.INTERVAL, 4 * value + 1)
    if kind == DOUBLE:
        return long(t, T.INTERVAL, 4 * value + 2) <= ordered(number) <= long(t, T.INTERVAL, 4 * value + 3)
    return False


@compiled
def _in_span(t: Any, value: Any, text: Any, length: Any) -> Any:
    low, high, open_ = (
        long(t, T.SPAN, 3 * value),
        long(t, T.SPAN, 3 * value + 1),
        long(t, T.SPAN, 3 * value + 2),
    )
    if low >= 0:
        other, size = constant_text(t, low)
        order = order_of(text, length, other, size)
        if order < 0 or (order == 0 and open_ & OPEN_BELOW):
            return False
    if high >= 0:
        other, size = constant_text(t, high)
        order = order_of(text, length, other, size)
        if order > 0 or (order == 0 and open_ & OPEN_ABOVE):
            return False
    return True


@compiled
def _includes(t: Any, c: Any, group: Any, slot: Any, wanted: Any, first: Any, count: Any, n: Any) -> Any:
    for element in range(first, first + count):
        key = key_of_element(t, c, group, slot, element, n)
        if key >= 0 and key == wanted:
            return True
    return False


@compiled
def _holds_of_text(t: Any, code: Any, value: Any, size: Any, text: Any, length: Any, n: Any) -> Any:
    if code == BETWEEN:
        return _in_span(t, value, text, length)
    other = address(t, T.TEXT) + value
    if code in (STARTS, STARTS_NOT):
        return _is_at(other, size, text, length, False) == (code == STARTS)
    if code in (ENDS, ENDS_NOT):
        return _is_at(other, size, text, length, True) == (code == ENDS)
    if code in (CONTAINS, CONTAINS_NOT):
        if is_too_long(text, length):
            return word_at(n + 8 * LENIENT) != 0
        return _occurs(other, size, text, length) == (code == CONTAINS)
    return False


@compiled
def _holds_of_key(t: Any, code: Any, value: Any, key: Any) -> Any:
    if code == EQUAL:
        return key >= 0 and key == value
    if code == UNEQUAL:
        return value < 0 or key != value
    return _in_set(t, value, key) == (code == ONE_OF)


@compiled
def holds(t: Any, c: Any, o: Any, group: Any, check: Any, row: Any, n: Any) -> Any:  # noqa: PLR0911 -- one per kind of check
    """Say whether the check at an address is true of a row."""
    code, local, value = half_at(check), half_at(check + 4), half_at(check + 8)
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    kind = byte(c, KIND, cell)
    if code == LACKS:
        return kind == ABSENT
    if kind < NULL:
        return False
    if code == HAS:
        return True
    if code in (EQUAL, UNEQUAL, ONE_OF, NONE_OF):
        return _holds_of_key(t, code, value, long(o, KEYS, COLUMN_OF_SLOTS + local))
    if code == WITHIN:
        return _in_interval(t, value, kind, long(c, NUMBER, cell))
    if code in (INCLUDES, INCLUDES_NOT):
        if kind not in (LIST, MAP):
            return False
        if kind == LIST and value >= 0 and is_too_dear(t, value, short(c, LENGTH, cell)):
            return word_at(n + 8 * LENIENT) != 0
        slot = short(t, T.GROUP_AT, group) + local
        found = _includes(t, c, group, slot, value, long(c, START, cell), short(c, LENGTH, cell), n)
        return found == (code == INCLUDES)
    if kind != STRING:
        return False
    text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
    return _holds_of_text(t, code, value, half_at(check + 12), text, length, n)
