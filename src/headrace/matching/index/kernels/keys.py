"""The hash table of keys: filled once, then only asked. A hit is verified, so that equal hashes change nothing.

A cell is the upper half of the hash and the key's number. A key is four words, so that a look at one cache line tells
all about it: owner and, above it, the tag; first and, above it, last post of its list; then a text of up to 16 bytes,
a longer one's place among the texts and number of characters, or a number. The tag of a text is its length; others are
negative.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.bloom import insert
from headrace.matching.index.kernels.hashes import hash_text, hash_word, mix
from headrace.matching.index.kernels.memory import address, is_same, long, put_long, short
from headrace.matching.index.tables import BLOOM, BLOOM_AT, BLOOM_BITS, CELLS, KEYS, SEED, SPACES, TEXT
from headrace.matching.machine import inlined, kernel, word_at

if TYPE_CHECKING:
    import numpy.typing as npt

    Numbers = npt.NDArray[Any]

INLINE = 16
_UPPER = np.uint64(0xFFFFFFFF00000000)
_LOWER = np.int64(0xFFFFFFFF)


@kernel
def fill(t: Any, keys: Any, mask: Any, groups: Any) -> Any:
    """Put every key into the table, and into the Bloom filter of its group.

    `t` are the tables' addresses; `groups` is where the address of the slots' groups lies.
    """
    bits = short(t, BLOOM_BITS, 0)
    for key in range(keys):
        first = long(t, KEYS, 4 * key)
        owner, tag = first & _LOWER, first >> 32
        hash_ = _hash(t, key, tag, np.uint64(long(t, SEED, owner)))
        cell = np.int64(hash_) & mask
        while long(t, CELLS, cell) != -1:
            cell = (cell + 1) & mask
        put_long(t, CELLS, cell, np.int64(hash_ & _UPPER) | key)
        group = short(groups, 0, owner // SPACES)
        insert(address(t, BLOOM), long(t, BLOOM_AT, group), long(t, BLOOM_AT, group + 1), hash_, bits)


@kernel
def hash_keys(t: Any, keys: Any, seeds: Any, hashes: Any) -> Any:
    """Hash some keys once more, with other seeds of their owners."""
    for each in range(len(keys)):
        first = long(t, KEYS, 4 * keys[each])
        owner, tag = first & _LOWER, first >> 32
        hashes[each] = _hash(t, keys[each], tag, seeds[owner])


def owner_seeds(slots: Numbers) -> Numbers:
    """Return the seeds of owners, made from those of slots."""
    owners = np.empty(len(slots) * SPACES, np.uint64)
    _seed_owners(slots, owners)
    return owners


@kernel
def _seed_owners(slots: Any, owners: Any) -> Any:
    for slot in range(len(slots)):
        for space in range(SPACES):
            owners[slot * SPACES + space] = mix(slots[slot] ^ np.uint64(space))


@inlined
def _hash(t: Any, key: Any, tag: Any, seed: Any) -> Any:
    return hash_text(_text_of(t, key, tag), tag, seed) if tag >= 0 else hash_word(_word_of(t, key, tag), seed)


@inlined
def _text_of(t: Any, key: Any, length: Any) -> Any:
    start = address(t, KEYS) + 32 * key + 16
    return start if length <= INLINE else address(t, TEXT) + word_at(start)


@inlined
def _word_of(t: Any, key: Any, tag: Any) -> Any:
    return tagged(long(t, KEYS, 4 * key + 2), tag)


@inlined
def tagged(value: Any, tag: Any) -> Any:
    """Tell the numbers 0, 1, 2 from null, false and true, and grams of one length from those of another."""
    return np.uint64(value) ^ (np.uint64(tag & 255) << np.uint64(56))


@inlined
def find(t: Any, mask: Any, owner: Any, tag: Any, hash_: Any, value: Any) -> Any:
    """Return the key of a text at an address, where the tag is its length, or of a number; -1: there is none."""
    wanted = owner | np.int64(tag) << 32
    cells, keys = address(t, CELLS), address(t, KEYS)
    cell = np.int64(hash_) & mask
    while True:
        found = word_at(cells + 8 * cell)
        if found == -1:
            return np.int64(-1)
        if (np.uint64(found) ^ hash_) & _UPPER == np.uint64(0):
            key = found & _LOWER
            if word_at(keys + 32 * key) == wanted:
                if tag >= 0 and is_same(value, _text_of(t, key, tag), tag):
                    return key
                if tag < 0 and word_at(keys + 32 * key + 16) == value:
                    return key
        cell = (cell + 1) & mask
