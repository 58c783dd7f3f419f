"""The hash table of keys: filled once, then only asked. A hit is verified, so that equal hashes change nothing."""

from __future__ import annotations

import numpy as np

from headrace.matching.checks import STRING_KEY
from headrace.matching.index.bloom import insert
from headrace.matching.index.hashing import hash_text, hash_word, mix
from headrace.matching.index.memory import address, is_same, long, put_long, put_short, short
from headrace.matching.index.tables import (
    BLOOM,
    BLOOM_AT,
    BLOOM_BITS,
    CELL_HASH,
    CELL_KEY,
    GRAM_SPACE,
    KEY_OWNER,
    KEY_TAG,
    KEY_VALUE,
    SLOT_SEED,
    SPACES,
    TEXT,
    TEXT_AT,
)
from headrace.matching.scan.machine import compiled, kernel


@kernel
def fill(t, keys, cells, groups):  # type: ignore[no-untyped-def]
    """Put every key into the table of so many cells, and into the Bloom filter of its group.

    `t` are the tables' addresses; `groups` is where the groups of slots lie.
    """
    mask = np.uint64(cells - 1)
    bits = short(t, BLOOM_BITS, 0)
    for key in range(keys):
        owner = short(t, KEY_OWNER, key)
        slot, space = owner // SPACES, owner % SPACES
        hash_ = _hash_of(t, key, space, mix(np.uint64(long(t, SLOT_SEED, slot)) ^ np.uint64(space)))
        cell = np.int64(hash_ & mask)
        while short(t, CELL_KEY, cell) >= 0:
            cell = (cell + 1) & np.int64(mask)
        put_long(t, CELL_HASH, cell, np.int64(hash_))
        put_short(t, CELL_KEY, cell, key)
        group = short(groups, 0, slot)
        insert(address(t, BLOOM), long(t, BLOOM_AT, group), long(t, BLOOM_AT, group + 1), hash_, bits)


@compiled
def _hash_of(t, key, space, seed):  # type: ignore[no-untyped-def]
    value, tag = long(t, KEY_VALUE, key), short(t, KEY_TAG, key)
    if space != GRAM_SPACE and tag == STRING_KEY:
        start = long(t, TEXT_AT, value)
        return hash_text(address(t, TEXT) + start, long(t, TEXT_AT, value + 1) - start, seed)
    return hash_word(tagged(value, tag), seed)


@compiled
def tagged(value, tag):  # type: ignore[no-untyped-def]
    """Tell the numbers 0, 1, 2 from null, false and true, and grams of one length from those of another."""
    return np.uint64(value) ^ (np.uint64(tag & 255) << np.uint64(56))


@compiled
def find_text(t, mask, owner, hash_, text, length):  # type: ignore[no-untyped-def]
    """Return the key of the text at an address, or -1."""
    cell = np.int64(hash_) & mask
    while True:
        key = short(t, CELL_KEY, cell)
        if key < 0:
            return np.int64(-1)
        if long(t, CELL_HASH, cell) == np.int64(hash_) and short(t, KEY_OWNER, key) == owner:
            value = long(t, KEY_VALUE, key)
            if short(t, KEY_TAG, key) == STRING_KEY:
                at = long(t, TEXT_AT, value)
                if long(t, TEXT_AT, value + 1) - at == length and is_same(text, address(t, TEXT) + at, length):
                    return np.int64(key)
        cell = (cell + 1) & mask


@compiled
def find_value(t, mask, owner, hash_, value, tag):  # type: ignore[no-untyped-def]
    """Return the key of a number, a constant or a gram, or -1."""
    cell = np.int64(hash_) & mask
    while True:
        key = short(t, CELL_KEY, cell)
        if key < 0:
            return np.int64(-1)
        if (
            long(t, CELL_HASH, cell) == np.int64(hash_)
            and short(t, KEY_OWNER, key) == owner
            and short(t, KEY_TAG, key) == tag
            and long(t, KEY_VALUE, key) == value
        ):
            return np.int64(key)
        cell = (cell + 1) & mask
