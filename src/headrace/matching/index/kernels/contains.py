"""Which texts a value contains: its grams are looked up, and texts that have one compared with what is around it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.matching.index.build.grams import GRAM_TAG
from headrace.matching.index.kernels.checks import is_too_long
from headrace.matching.index.kernels.memo import (
    begin_keeping,
    end_keeping,
    entry_of,
    is_kept,
    keep,
    visit_kept,
)
from headrace.matching.index.kernels.texts import is_same
from headrace.matching.index.kernels.values import constant_text, key_of
from headrace.matching.index.kernels.visits import visit
from headrace.matching.index.tables import GRAM_SPACE
from headrace.matching.machine import Address, byte_at, compiled, inlined

if TYPE_CHECKING:
    from headrace.matching.index.kernels.records import CellPointers, Counts, RoomPointers, TablePointers


@inlined
def _gram(text: Address, size: int) -> int:
    value = byte_at(text)
    for offset in range(1, size):
        value |= byte_at(text + offset) << (8 * offset)
    return value


@compiled
def _visit_gram(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    key: int,
    text: Address,
    offset: int,
    length: int,
    row: int,
    n: Counts,
) -> bool:
    """Compare every text that has this gram with the one around it; what is found counts once per event."""
    entry = key - t.gram_first[0]
    for each in range(t.gram_at[entry], t.gram_at[entry + 1]):
        mark = t.gram_mark[each]
        at = offset - t.gram_offset[each]
        other, size = constant_text(t, t.gram_text[each])
        if (
            o.gram_seen[mark] == n.epoch
            or at < 0
            or at + size > length
            or not is_same(text + at, other, size)
        ):
            continue
        o.gram_seen[mark] = n.epoch
        list_ = t.gram_list[each]
        keep(t, o, list_, n)
        if not visit(t, c, o, group, list_, row, n):
            return False
    return True


@compiled
def _visit_grams(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    slot: int,
    text: Address,
    length: int,
    row: int,
    n: Counts,
) -> bool:
    for size in range(1, 5):
        if not (t.slot_grams[slot] >> size) & 1:
            continue
        for offset in range(length - size + 1):
            key = key_of(t, group, slot, GRAM_SPACE, _gram(text + offset, size), -(GRAM_TAG + size), n)
            if key >= 0 and not _visit_gram(t, c, o, group, key, text, offset, length, row, n):
                return False
    return True


@inlined
def visit_contained(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    slot: int,
    text: Address,
    length: int,
    row: int,
    n: Counts,
) -> bool:
    """Visit the lists of the texts that a text contains."""
    if not t.slot_grams[slot] or is_too_long(text, length):
        return True
    entry = entry_of(t, o, slot, text, length)
    if is_kept(o, entry, text, length):
        return visit_kept(t, c, o, group, entry, row, n)
    begin_keeping(o, entry, text, length, n)
    is_whole = _visit_grams(t, c, o, group, slot, text, length, row, n)
    end_keeping(o, entry, length, is_whole, n)
    return is_whole
