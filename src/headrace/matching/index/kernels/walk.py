"""The walk of one event through the index, for a whole batch of events: whom it finds, and whom it may find.

Per row: first the key of every slot's value, then every list that the values lead to, then the checks of the
alternatives in these. No Python object is touched, so threads run side by side.
"""

from __future__ import annotations

from headrace.matching.extraction.cells import LIST, MAP, NULL, STRING
from headrace.matching.index.kernels.checks import is_too_dear
from headrace.matching.index.kernels.contains import visit_contained
from headrace.matching.index.kernels.lookups import approach, note, resolve, sieve
from headrace.matching.index.kernels.ranges import list_of_text, visit_above
from headrace.matching.index.kernels.records import (
    ROWS_UNDER_WAY,
    CellPointers,
    Counts,
    RoomPointers,
    Row,
    TablePointers,
)
from headrace.matching.index.kernels.values import key_of_element
from headrace.matching.index.kernels.visits import visit, visit_key
from headrace.matching.machine import Address, compiled, inlined, kernel


@compiled
def _visit_elements(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    slot: int,
    kind: int,
    first: int,
    count: int,
    row: int,
    n: Counts,
) -> bool:
    for element in range(first, first + count):
        key = key_of_element(t, c, group, slot, element, n)
        if key >= 0 and kind == LIST and is_too_dear(t, key, count):
            continue
        if key >= 0 and not visit_key(t, c, o, group, key, row, n):
            return False
    return True


@compiled
def _visit_slot(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    slot: int,
    local: int,
    row: int,
    n: Counts,
) -> bool:
    """Visit every list that one field's value leads to, other than by its look-ups and as a number."""
    cell = row * n.width + c.columns[local]
    kind = c.kind[cell]
    if kind < NULL:
        return True
    presence = t.slot_list[slot]
    if presence >= 0 and not visit(t, c, o, group, presence, row, n):
        return False
    start, length = c.start[cell], c.length[cell]
    if kind == STRING:
        text = c.text + start
        if not visit_contained(t, c, o, group, slot, text, length, row, n):
            return False
        return visit_above(t, c, o, group, list_of_text(t, slot, text, length), row, n)
    if kind in (LIST, MAP) and t.slot_elements[slot]:
        return _visit_elements(t, c, o, group, slot, kind, start, length, row, n)
    return True


@compiled
def _match(
    t: TablePointers, c: CellPointers, o: RoomPointers, place: Row, group: int, row: int, n: Counts
) -> bool:
    """Take a row through the index; its look-ups are resolved."""
    if not visit(t, c, o, group, t.group_list[group], row, n):
        return False
    lookups, lists = place.lookups, place.lists
    for each in range(place.count):
        key = lookups[each].key
        if key >= 0 and not visit_key(t, c, o, group, key, row, n):
            return False
    first = t.group_at[group]
    for local in range(t.group_at[group + 1] - first):
        if not visit_above(t, c, o, group, lists[local], row, n):
            return False
        visited = t.slot_visited[first + local]
        if visited and not _visit_slot(t, c, o, group, first + local, local, row, n):
            return False
    for each in range(c.pattern_at[row], c.pattern_at[row + 1]):
        if not visit(t, c, o, group, c.pattern_list[each], row, n):
            return False
    return True


@inlined
def _is_row(row: int, first: int, n: Counts) -> bool:
    return first <= row < n.rows


@kernel
def match_rows(tables: Address, cells: Address, room: Address, group: int, counts: Address) -> None:
    """Match rows from `next_row` on, and stop before the first for which there is no room.

    Five rows are under way at a time, each a step further than the one after it: what one will need of memory is
    asked for while others are worked on.
    """
    t, c, o, n = TablePointers(tables), CellPointers(cells), RoomPointers(room), Counts(counts)
    first = n.next_row
    fifth, fourth, third, second, now = o.rows[0], o.rows[1], o.rows[2], o.rows[3], o.rows[4]
    row = first - ROWS_UNDER_WAY + 1
    while row < n.rows:
        if _is_row(row + 4, first, n):
            note(t, c, fifth, group, row + 4, n)
        if _is_row(row + 3, first, n):
            sieve(t, fourth, group, n)
        if _is_row(row + 2, first, n):
            approach(t, third, n)
        if _is_row(row + 1, first, n):
            resolve(t, second, group, n)
        if row >= first:
            matches, candidates = n.matches, n.candidates
            n.epoch += 1
            o.keys = now.keys
            if not _match(t, c, o, now, group, row, n):
                n.matches = matches
                n.candidates = candidates
                break
        row += 1
        now, second, third, fourth, fifth = second, third, fourth, fifth, now
    n.next_row = row
