"""The walk of one event through the index, for a whole batch of events: whom it finds, and whom it may find.

Per row: first the key of every slot's value, then every list that the values lead to, then the checks of the
alternatives in these. No Python object is touched, so threads run side by side.

All kernels take addresses: `t` of the tables, `c` of the cells, `o` of the room for what is found, `n` of the counts.
"""

from __future__ import annotations

from typing import Any

from headrace.matching.extraction.cells import LIST, MAP, NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.kernels.arguments import (
    CANDIDATES,
    COLUMNS,
    EPOCH,
    KEYS,
    KEYS_AT,
    KIND,
    LENGTH,
    LISTS_AT,
    LOOKUP_BYTES,
    LOOKUPS_AT,
    MATCHES,
    NEXT_ROW,
    PATTERN_AT,
    PATTERN_LIST,
    ROW_BYTES,
    ROWS,
    ROWS_UNDER_WAY,
    START,
    TEXT,
    UNDER_WAY,
    WIDTH,
)
from headrace.matching.index.kernels.checks import is_too_dear
from headrace.matching.index.kernels.contains import visit_contained
from headrace.matching.index.kernels.lookups import approach, note, resolve, sieve
from headrace.matching.index.kernels.memory import add, address, byte, long, short
from headrace.matching.index.kernels.ranges import list_of_text, visit_above
from headrace.matching.index.kernels.values import key_of_element
from headrace.matching.index.kernels.visits import visit, visit_key
from headrace.matching.machine import compiled, inlined, kernel, put_word, word_at


@compiled
def _visit_elements(
    t: Any, c: Any, o: Any, group: Any, slot: Any, kind: Any, first: Any, count: Any, row: Any, n: Any
) -> Any:
    for element in range(first, first + count):
        key = key_of_element(t, c, group, slot, element, n)
        if key >= 0 and kind == LIST and is_too_dear(t, key, count):
            continue
        if key >= 0 and not visit_key(t, c, o, group, key, row, n):
            return False
    return True


@compiled
def _visit_slot(t: Any, c: Any, o: Any, group: Any, slot: Any, local: Any, row: Any, n: Any) -> Any:
    """Visit every list that one field's value leads to, other than by its look-ups and as a number."""
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    kind = byte(c, KIND, cell)
    if kind < NULL:
        return True
    presence = short(t, T.SLOT_LIST, slot)
    if presence >= 0 and not visit(t, c, o, group, presence, row, n):
        return False
    if kind == STRING:
        text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
        if not visit_contained(t, c, o, group, slot, text, length, row, n):
            return False
        return visit_above(t, c, o, group, list_of_text(t, slot, text, length), row, n)
    if kind in (LIST, MAP) and byte(t, T.SLOT_ELEMENTS, slot):
        return _visit_elements(
            t, c, o, group, slot, kind, long(c, START, cell), short(c, LENGTH, cell), row, n
        )
    return True


@compiled
def _match(t: Any, c: Any, o: Any, room: Any, group: Any, row: Any, n: Any) -> Any:
    """Take a row through the index; its look-ups are resolved."""
    if not visit(t, c, o, group, short(t, T.GROUP_LIST, group), row, n):
        return False
    at = room + word_at(n + 8 * LOOKUPS_AT)
    end = at + LOOKUP_BYTES * word_at(room)
    while at < end:
        key = word_at(at + LOOKUP_BYTES - 8)
        if key >= 0 and not visit_key(t, c, o, group, key, row, n):
            return False
        at += LOOKUP_BYTES
    lists = room + word_at(n + 8 * LISTS_AT)
    first = short(t, T.GROUP_AT, group)
    for local in range(short(t, T.GROUP_AT, group + 1) - first):
        if not visit_above(t, c, o, group, word_at(lists + 8 * local), row, n):
            return False
        visited = byte(t, T.SLOT_VISITED, first + local)
        if visited and not _visit_slot(t, c, o, group, first + local, local, row, n):
            return False
    for each in range(long(c, PATTERN_AT, row), long(c, PATTERN_AT, row + 1)):
        if not visit(t, c, o, group, short(c, PATTERN_LIST, each), row, n):
            return False
    return True


@inlined
def _is_row(row: Any, first: Any, n: Any) -> Any:
    return first <= row < word_at(n + 8 * ROWS)


@kernel
def match_rows(t: Any, c: Any, o: Any, group: Any, n: Any) -> Any:
    """Match rows from `NEXT_ROW` on, and stop before the first for which there is no room.

    Five rows are under way at a time, each a step further than the one after it: what one will need of memory is
    asked for while others are worked on.
    """
    first = word_at(n + 8 * NEXT_ROW)
    size = word_at(n + 8 * ROW_BYTES)
    fifth = address(o, UNDER_WAY)
    fourth, third, second, now = fifth + size, fifth + 2 * size, fifth + 3 * size, fifth + 4 * size
    row = first - ROWS_UNDER_WAY + 1
    while row < word_at(n + 8 * ROWS):
        if _is_row(row + 4, first, n):
            note(t, c, fifth, group, row + 4, n)
        if _is_row(row + 3, first, n):
            sieve(t, fourth, group, n)
        if _is_row(row + 2, first, n):
            approach(t, third, n)
        if _is_row(row + 1, first, n):
            resolve(t, second, group, n)
        if row >= first:
            matches, candidates = word_at(n + 8 * MATCHES), word_at(n + 8 * CANDIDATES)
            add(n, EPOCH, 1)
            put_word(o + 8 * KEYS, now + KEYS_AT)
            if not _match(t, c, o, now, group, row, n):
                put_word(n + 8 * MATCHES, matches)
                put_word(n + 8 * CANDIDATES, candidates)
                break
        row += 1
        now, second, third, fourth, fifth = second, third, fourth, fifth, now
    put_word(n + 8 * NEXT_ROW, row)
