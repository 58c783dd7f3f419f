"""Which texts a value contains: its grams are looked up, and texts that have one compared with what is around it."""

from __future__ import annotations

from typing import Any

from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.build.grams import GRAM_TAG
from headrace.matching.index.kernels.arguments import EPOCH, GRAM_SEEN
from headrace.matching.index.kernels.checks import is_too_long
from headrace.matching.index.kernels.memo import (
    begin_keeping,
    end_keeping,
    entry_of,
    is_kept,
    keep,
    visit_kept,
)
from headrace.matching.index.kernels.memory import byte, is_same, long, put_long, short
from headrace.matching.index.kernels.values import constant_text, key_of
from headrace.matching.index.kernels.visits import visit
from headrace.matching.machine import byte_at, compiled, inlined, word_at


@inlined
def _gram(text: Any, size: Any) -> Any:
    value = byte_at(text)
    for offset in range(1, size):
        value |= byte_at(text + offset) << (8 * offset)
    return value


@compiled
def _visit_gram(
    t: Any, c: Any, o: Any, group: Any, key: Any, text: Any, offset: Any, length: Any, row: Any, n: Any
) -> Any:
    """Compare every text that has this gram with the one around it; what is found counts once per event."""
    entry = key - short(t, T.GRAM_FIRST, 0)
    epoch = word_at(n + 8 * EPOCH)
    for each in range(short(t, T.GRAM_AT, entry), short(t, T.GRAM_AT, entry + 1)):
        mark = short(t, T.GRAM_MARK, each)
        at = offset - short(t, T.GRAM_OFFSET, each)
        other, size = constant_text(t, short(t, T.GRAM_TEXT, each))
        if (
            long(o, GRAM_SEEN, mark) == epoch
            or at < 0
            or at + size > length
            or not is_same(text + at, other, size)
        ):
            continue
        put_long(o, GRAM_SEEN, mark, epoch)
        list_ = short(t, T.GRAM_LIST, each)
        keep(t, o, list_, n)
        if not visit(t, c, o, group, list_, row, n):
            return False
    return True


@compiled
def _visit_grams(
    t: Any, c: Any, o: Any, group: Any, slot: Any, text: Any, length: Any, row: Any, n: Any
) -> Any:
    for size in range(1, 5):
        if not (byte(t, T.SLOT_GRAMS, slot) >> size) & 1:
            continue
        for offset in range(length - size + 1):
            key = key_of(t, group, slot, T.GRAM_SPACE, _gram(text + offset, size), -(GRAM_TAG + size), n)
            if key >= 0 and not _visit_gram(t, c, o, group, key, text, offset, length, row, n):
                return False
    return True


@inlined
def visit_contained(
    t: Any, c: Any, o: Any, group: Any, slot: Any, text: Any, length: Any, row: Any, n: Any
) -> Any:
    """Visit the lists of the texts that a text contains."""
    if not byte(t, T.SLOT_GRAMS, slot) or is_too_long(text, length):
        return True
    entry = entry_of(t, o, slot, text, length)
    if is_kept(o, entry, text, length):
        return visit_kept(t, c, o, group, entry, row, n)
    begin_keeping(o, entry, text, length, n)
    is_whole = _visit_grams(t, c, o, group, slot, text, length, row, n)
    end_keeping(o, entry, length, is_whole, n)
    return is_whole
