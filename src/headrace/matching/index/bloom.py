"""The Bloom filter in front of the hash table: blocks of a cache line, so that a miss costs one look at memory.

Of a key's hash the upper half chooses the block, `mix(hash)` gives nine bits for each bit that is set in it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.hashing import mix
from headrace.matching.scan.machine import compiled, put_word, word_at

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

BLOCK_BITS = 512
_WORDS = 8
_MOST_BITS = 7
_CROWDING = 1.15
"""Blocks fill unevenly; this much more room brings the rate of false positives back to the one asked for."""


def bits_per_key(settings: BloomSettings) -> int:
    """Return k = (m / n) ln 2, as many as a hash has bits for."""
    return max(1, min(_MOST_BITS, math.ceil(-math.log2(settings.fp_rate))))


def blocks_for(keys: Numbers, settings: BloomSettings) -> Numbers:
    """Return m = -n ln p / (ln 2)^2, in blocks, for collections of so many keys."""
    expected = np.maximum(keys, settings.initial_capacity)
    bits = -expected * math.log(settings.fp_rate) / math.log(2) ** 2 * _CROWDING
    return np.ceil(bits / BLOCK_BITS).astype(np.int64)


@compiled
def block_of(hash_, first, last):  # type: ignore[no-untyped-def]
    """Return how far from the first word a hash's block lies, in bytes, of the blocks from first to last."""
    upper = hash_ >> np.uint64(32)
    return (first + np.int64((upper * np.uint64(last - first)) >> np.uint64(32))) * 64


@compiled
def insert(words, first, last, hash_, bits):  # type: ignore[no-untyped-def]
    """Set the bits of a hash in the words at an address."""
    base = words + block_of(hash_, first, last)
    rest = mix(hash_)
    for _ in range(bits):
        word = base + np.int64((rest >> np.uint64(6)) & np.uint64(7)) * 8
        put_word(word, np.int64(np.uint64(word_at(word)) | (np.uint64(1) << (rest & np.uint64(63)))))
        rest >>= np.uint64(9)


@compiled
def may_contain(words, first, last, hash_, bits):  # type: ignore[no-untyped-def]
    """Say whether the hash may have been inserted; false is certain."""
    base = words + block_of(hash_, first, last)
    rest = mix(hash_)
    for _ in range(bits):
        word = np.uint64(word_at(base + np.int64((rest >> np.uint64(6)) & np.uint64(7)) * 8))
        if (word >> (rest & np.uint64(63))) & np.uint64(1) == np.uint64(0):
            return False
        rest >>= np.uint64(9)
    return True
