"""The hash table of keys: filled once, then only asked. A hit is verified, so that equal hashes change nothing.

A cell is the upper half of the hash and the key's number. A look at one cache line tells all about a `Key`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headrace.matching.index.bloom import insert
from headrace.matching.index.kernels.hashes import hash_text, hash_word, mix
from headrace.matching.index.kernels.records import Key, TablePointers
from headrace.matching.index.kernels.texts import is_same
from headrace.matching.index.tables import SPACES
from headrace.matching.machine import Address, address, inlined, kernel, signed, word_at

if TYPE_CHECKING:
    from headrace.matching.index.kernels.hashes import Hash
    from headrace.matching.index.tables import Longs, Shorts, Words

INLINE = 16
INLINE_AT = Key.dtype.fields["value"][1]  # type: ignore[index]
_UPPER = np.uint64(0xFFFFFFFF00000000)
_LOWER = 0xFFFFFFFF


@kernel
def fill(tables: Address, keys: int, mask: int, groups: Shorts) -> None:
    """Put every key into the table, and into the Bloom filter of its group, given the groups of the slots."""
    t = TablePointers(tables)
    bits = t.bloom_bits[0]
    for number in range(keys):
        key = t.keys[number]
        hash_ = _hash(t, key, np.uint64(t.seed[key.owner]))
        cell = signed(hash_) & mask
        while t.cells[cell] != -1:
            cell = (cell + 1) & mask
        t.cells[cell] = signed(hash_ & _UPPER) | number
        group = groups[key.owner // SPACES]
        insert(t.bloom, t.bloom_at[group], t.bloom_at[group + 1], hash_, bits)


@kernel
def hash_keys(tables: Address, keys: Longs, seeds: Words, hashes: Words) -> None:
    """Hash some keys once more, with other seeds of their owners."""
    t = TablePointers(tables)
    for each in range(len(keys)):
        key = t.keys[keys[each]]
        hashes[each] = _hash(t, key, seeds[key.owner])


def owner_seeds(slots: Words) -> Words:
    """Return the seeds of owners, made from those of slots."""
    owners = np.empty(len(slots) * SPACES, np.uint64)
    _seed_owners(slots, owners)
    return owners


@kernel
def _seed_owners(slots: Words, owners: Words) -> None:
    for slot in range(len(slots)):
        for space in range(SPACES):
            owners[slot * SPACES + space] = mix(slots[slot] ^ np.uint64(space))


@inlined
def _hash(t: TablePointers, key: Key, seed: Hash) -> Hash:
    tag = key.tag
    return (
        hash_text(_text_of(t, key, tag), tag, seed) if tag >= 0 else hash_word(tagged(key.value, tag), seed)
    )


@inlined
def _text_of(t: TablePointers, key: Key, length: int) -> Address:
    return address(key) + INLINE_AT if length <= INLINE else t.text + key.value


@inlined
def tagged(value: int, tag: int) -> np.uint64:
    """Tell the numbers 0, 1, 2 from null, false and true, and grams of one length from those of another."""
    return np.uint64(value) ^ (np.uint64(tag & 255) << np.uint64(56))


@inlined
def find(t: TablePointers, mask: int, owner: int, tag: int, hash_: Hash, value: int) -> int:
    """Return the key of a text at an address, where the tag is its length, or of a number; -1: there is none."""
    wanted = owner | tag << 32  # the first two fields of a key, in one look
    cells, keys = t.cells, t.keys
    cell = signed(hash_) & mask
    while True:
        found = cells[cell]
        if found == -1:
            return -1
        if (np.uint64(found) ^ hash_) & _UPPER == np.uint64(0):
            key = keys[found & _LOWER]
            if word_at(address(key)) == wanted:
                if tag >= 0 and is_same(value, _text_of(t, key, tag), tag):
                    return found & _LOWER
                if tag < 0 and key.value == value:
                    return found & _LOWER
        cell = (cell + 1) & mask
