"""The look-ups of a row: noted, let through the Bloom filter, turned into keys.

Each step asks for the memory that the next one needs, and other rows are worked on until that has come.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.extraction.cells import NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.bloom import block_of, may_contain
from headrace.matching.index.kernels.arguments import (
    ALWAYS,
    ASKED,
    COLUMN_OF_SLOTS,
    COLUMNS,
    FOUND,
    KEYS_AT,
    KIND,
    LENGTH,
    LISTS_AT,
    LOOKUP_BYTES,
    LOOKUPS_AT,
    MASK,
    NUMBER,
    PASSED,
    START,
    TEXT,
    WIDTH,
)
from headrace.matching.index.kernels.keys import find
from headrace.matching.index.kernels.memory import add, address, byte, long, short
from headrace.matching.index.kernels.ranges import list_of_number
from headrace.matching.index.kernels.values import hash_of_value, tag_of, value_of
from headrace.matching.index.kernels.visits import POST_BYTES
from headrace.matching.machine import half_at, inlined, prefetch, put_word, word_at

_LOWER = np.int64(0xFFFFFFFF)


@inlined
def _note(t: Any, lookup: Any, group: Any, owner: Any, value: Any, tag: Any, column: Any) -> Any:
    """Note a look-up, and return where the next one goes."""
    hash_ = hash_of_value(value, tag, np.uint64(long(t, T.SEED, owner)))
    put_word(lookup, np.int64(hash_))
    put_word(lookup + 8, owner)
    put_word(lookup + 16, tag)
    put_word(lookup + 24, value)
    put_word(lookup + 32, column)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    prefetch(address(t, T.BLOOM) + block_of(hash_, first, last))
    return lookup + LOOKUP_BYTES


@inlined
def note(t: Any, c: Any, room: Any, group: Any, row: Any, n: Any) -> Any:
    """Note every look-up that a row needs, and the lists of the ranges that its numbers lie in."""
    first, last = short(t, T.GROUP_AT, group), short(t, T.GROUP_AT, group + 1)
    starts = COLUMN_OF_SLOTS + last - first - short(t, T.SLOT_START_AT, first)
    ends = starts + short(t, T.SLOT_START_AT, last) - short(t, T.SLOT_END_AT, first)
    lists, lookups = room + word_at(n + 8 * LISTS_AT), room + word_at(n + 8 * LOOKUPS_AT)
    to = lookups
    for slot in range(first, last):
        cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, slot - first)
        kind = byte(c, KIND, cell)
        list_ = np.int64(-1)
        if NULL <= kind <= STRING:
            text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
            number, owner = long(c, NUMBER, cell), slot * T.SPACES
            if byte(t, T.SLOT_HAS_KEYS, slot):
                value, column = value_of(kind, number, text), COLUMN_OF_SLOTS + slot - first
                to = _note(t, to, group, owner + T.EQUAL_SPACE, value, tag_of(kind, length), column)
            if kind == STRING:
                for each in range(short(t, T.SLOT_START_AT, slot), short(t, T.SLOT_START_AT, slot + 1)):
                    size = short(t, T.START_LENGTH, each)
                    if size > length:
                        break
                    to = _note(t, to, group, owner + T.START_SPACE, text, size, starts + each)
                for each in range(short(t, T.SLOT_END_AT, slot), short(t, T.SLOT_END_AT, slot + 1)):
                    size = short(t, T.END_LENGTH, each)
                    if size > length:
                        break
                    end = text + length - size
                    to = _note(t, to, group, owner + T.END_SPACE, end, size, ends + each)
            else:
                list_ = list_of_number(t, slot, kind, number)
                if list_ >= 0:
                    prefetch(address(t, T.LIST_AT) + 8 * list_)
        put_word(lists + 8 * (slot - first), list_)
    put_word(room, (to - lookups) // LOOKUP_BYTES)


@inlined
def sieve(t: Any, room: Any, group: Any, n: Any) -> Any:
    """Keep the look-ups that pass the Bloom filter, in their order, and ask for the cells of these alone."""
    cells, mask = address(t, T.CELLS), word_at(n + 8 * MASK)
    words, bits = address(t, T.BLOOM), short(t, T.BLOOM_BITS, 0)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    at = to = room + word_at(n + 8 * LOOKUPS_AT)
    count = word_at(room)
    end = at + LOOKUP_BYTES * count
    while at < end:
        hash_ = word_at(at)
        for word in range(0, 40, 8):
            put_word(to + word, word_at(at + word))
        if may_contain(words, first, last, np.uint64(hash_), bits):
            prefetch(cells + 8 * (hash_ & mask))
            to += LOOKUP_BYTES
        at += LOOKUP_BYTES
    kept = (to - room - word_at(n + 8 * LOOKUPS_AT)) // LOOKUP_BYTES
    add(n, ASKED, count)
    add(n, PASSED, kept)
    put_word(room, kept)


@inlined
def approach(t: Any, room: Any, n: Any) -> Any:
    """Ask for the keys that the cells name."""
    keys, cells, mask = address(t, T.KEYS), address(t, T.CELLS), word_at(n + 8 * MASK)
    at = room + word_at(n + 8 * LOOKUPS_AT)
    end = at + LOOKUP_BYTES * word_at(room)
    while at < end:
        prefetch(keys + 32 * (word_at(cells + 8 * (word_at(at) & mask)) & _LOWER))
        at += LOOKUP_BYTES


@inlined
def resolve(t: Any, room: Any, group: Any, n: Any) -> Any:
    """Turn look-ups into keys, each noted in its column, and ask for what stands in their lists."""
    first, last = short(t, T.GROUP_AT, group), short(t, T.GROUP_AT, group + 1)
    starts = short(t, T.SLOT_START_AT, last) - short(t, T.SLOT_START_AT, first)
    ends = short(t, T.SLOT_END_AT, last) - short(t, T.SLOT_END_AT, first)
    for column in range(COLUMN_OF_SLOTS, COLUMN_OF_SLOTS + last - first + starts + ends):
        put_word(room + KEYS_AT + 8 * column, np.int64(-1))
    put_word(room + KEYS_AT + 8 * ALWAYS, np.int64(0))
    keys, posts = address(t, T.KEYS), address(t, T.POSTS)
    mask, at = word_at(n + 8 * MASK), room + word_at(n + 8 * LOOKUPS_AT)
    end = at + LOOKUP_BYTES * word_at(room)
    found = np.int64(0)
    while at < end:
        key = find(t, mask, word_at(at + 8), word_at(at + 16), np.uint64(word_at(at)), word_at(at + 24))
        if key >= 0:
            found += 1
            prefetch(posts + POST_BYTES * half_at(keys + 32 * key + 8))
        put_word(at + 40, key)
        put_word(room + KEYS_AT + 8 * word_at(at + 32), key)
        at += LOOKUP_BYTES
    add(n, FOUND, found)
    lists = room + word_at(n + 8 * LISTS_AT)
    for local in range(last - first):
        list_ = word_at(lists + 8 * local)
        if list_ >= 0:
            prefetch(posts + POST_BYTES * long(t, T.LIST_AT, list_))
