"""The look-ups of a row: noted, let through the Bloom filter, turned into keys; each step asks for memory ahead."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.cells import NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.arguments import (
    ASKED,
    COLUMNS,
    FOUND,
    KEYS,
    KIND,
    LENGTH,
    LOOKUP_BYTES,
    MASK,
    NUMBER,
    PASSED,
    ROWS,
    START,
    TEXT,
    WIDTH,
)
from headrace.matching.index.bloom import block_of, may_contain
from headrace.matching.index.keys import find
from headrace.matching.index.memory import add, address, byte, long, put_long, short
from headrace.matching.index.values import (
    hash_of_value,
    seed_of,
    tag_of,
    value_of,
)
from headrace.matching.machine import (
    compiled,
    prefetch,
    put_word,
    word_at,
)

_LOWER = np.int64(0xFFFFFFFF)


@compiled
def _note(
    t: Any, lookups: Any, group: Any, slot: Any, space: Any, value: Any, tag: Any, local: Any, count: Any
) -> Any:
    """Note a look-up, and ask for the memory that it will need first. Many are under way at a time."""
    hash_ = hash_of_value(value, tag, seed_of(t, slot, space))
    at = lookups + LOOKUP_BYTES * count
    put_word(at, np.int64(hash_))
    put_word(at + 8, slot * T.SPACES + space)
    put_word(at + 16, tag)
    put_word(at + 24, value)
    put_word(at + 32, local)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    prefetch(address(t, T.BLOOM) + block_of(hash_, first, last))
    return count + 1


@compiled
def _note_ends(t: Any, lookups: Any, group: Any, slot: Any, text: Any, length: Any, count: Any) -> Any:
    """Note the beginnings and endings of a text, in every length in use."""
    for each in range(short(t, T.SLOT_START_AT, slot), short(t, T.SLOT_START_AT, slot + 1)):
        size = short(t, T.START_LENGTH, each)
        if size > length:
            break
        count = _note(t, lookups, group, slot, T.START_SPACE, text, size, np.int64(-1), count)
    for each in range(short(t, T.SLOT_END_AT, slot), short(t, T.SLOT_END_AT, slot + 1)):
        size = short(t, T.END_LENGTH, each)
        if size > length:
            break
        count = _note(t, lookups, group, slot, T.END_SPACE, text + length - size, size, np.int64(-1), count)
    return count


@compiled
def note_all(t: Any, c: Any, lookups: Any, group: Any, slots: Any, row: Any, n: Any) -> Any:
    """Note every look-up that a row needs, if there is such a row, and return how many these are."""
    if row >= word_at(n + 8 * ROWS):
        return np.int64(0)
    first = short(t, T.GROUP_AT, group)
    count = np.int64(0)
    for local in range(slots):
        cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
        kind = byte(c, KIND, cell)
        if kind < NULL or kind > STRING:
            continue
        slot = first + local
        text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
        if byte(t, T.SLOT_HAS_KEYS, slot):
            value = value_of(kind, long(c, NUMBER, cell), text)
            count = _note(t, lookups, group, slot, T.EQUAL_SPACE, value, tag_of(kind, length), local, count)
        if kind == STRING:
            count = _note_ends(t, lookups, group, slot, text, length, count)
    return count


@compiled
def sieve(t: Any, lookups: Any, group: Any, count: Any, n: Any) -> Any:
    """Keep the look-ups that pass the Bloom filter, in their order, and ask for the cells of these alone."""
    cells, mask = address(t, T.CELLS), word_at(n + 8 * MASK)
    words, bits = address(t, T.BLOOM), short(t, T.BLOOM_BITS, 0)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    at = to = lookups
    end = at + LOOKUP_BYTES * count
    while at < end:
        hash_ = word_at(at)
        if may_contain(words, first, last, np.uint64(hash_), bits):
            prefetch(cells + 8 * (hash_ & mask))
            for word in range(0, 40, 8):
                put_word(to + word, word_at(at + word))
            to += LOOKUP_BYTES
        at += LOOKUP_BYTES
    kept = (to - lookups) // LOOKUP_BYTES
    add(n, ASKED, count)
    add(n, PASSED, kept)
    return kept


@compiled
def resolve(t: Any, o: Any, lookups: Any, slots: Any, count: Any, n: Any) -> Any:
    """Turn look-ups into keys; each equality's key is noted for its slot."""
    for local in range(slots):
        put_long(o, KEYS, local, np.int64(-1))
    keys, posts, cells = address(t, T.KEYS), address(t, T.POSTS), address(t, T.CELLS)
    mask = word_at(n + 8 * MASK)
    for each in range(count):
        hash_ = word_at(lookups + LOOKUP_BYTES * each)
        prefetch(keys + 32 * (word_at(cells + 8 * (hash_ & mask)) & _LOWER))
    for each in range(count):
        at = lookups + LOOKUP_BYTES * each
        key = find(t, mask, word_at(at + 8), word_at(at + 16), np.uint64(word_at(at)), word_at(at + 24))
        if key >= 0:
            add(n, FOUND, 1)
            prefetch(posts + 16 * (word_at(keys + 32 * key + 8) & _LOWER))
        put_word(at + 40, key)
        local = word_at(at + 32)
        if local >= 0:
            put_long(o, KEYS, local, key)
