"""The Bloom filter in front of the hash table: blocks of a cache line, so that a miss costs one look at memory.

Of a key's hash the upper half chooses the block, `mix(hash)` gives nine bits for each bit that is set in it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.kernels.hashes import mix
from headrace.matching.machine import Address, Long, Many, inlined, kernel, longs, signed

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace.matching.index.kernels.hashes import Hash
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

BLOCK_BITS = 512
_WORDS = 8
_LINE = 64
_MOST_BITS = 7
"""A hash has 64 bits, and each bit that is set takes nine of them."""

_MARGIN = 0.95
"""The average leaves out that two bits of a key may be the same one, which makes the rate a few percent higher."""

_NEARLY = 0.98

OFF = 1.0
"""At this rate of false positives there is no filter: no bit is set, and everything passes."""


@dataclass(frozen=True, slots=True)
class Shape:
    """How many bits a key sets, and how many keys a block may have on average."""

    bits: int
    keys_per_block: float


@cache
def shape_for(fp_rate: float) -> Shape:
    """Return the shape that keeps the rate of false positives in the least memory, or nearly so with fewer bits.

    A filter that isn't cut into blocks needs m = -n ln p / (ln 2)^2 bits, of which a key sets k = (m / n) ln 2.
    Blocks fill unevenly and the fuller ones err more, so these need a little more: the rate of a block, averaged over
    a Poisson distribution of its keys, is what must not exceed p.
    """
    shapes = [Shape(bits, _keys_per_block(bits, fp_rate * _MARGIN)) for bits in range(1, _MOST_BITS + 1)]
    most = max(shape.keys_per_block for shape in shapes)
    return next(shape for shape in shapes if shape.keys_per_block >= _NEARLY * most)


def bits_per_key(settings: BloomSettings) -> int:
    """Return k: 0 where there is no filter."""
    return 0 if settings.fp_rate >= OFF else shape_for(settings.fp_rate).bits


def blocks_for(keys: Numbers, settings: BloomSettings) -> Numbers:
    """Return m in blocks, one at least, for collections of so many keys."""
    if settings.fp_rate >= OFF:
        return np.ones(len(keys), np.int64)
    expected = np.maximum(keys, settings.initial_capacity)
    return np.maximum(1, np.ceil(expected / shape_for(settings.fp_rate).keys_per_block)).astype(np.int64)


def empty_blocks(count: int) -> npt.NDArray[np.uint64]:
    """Make room for blocks, each of them in one cache line."""
    room = np.zeros((count + 1) * _WORDS, np.uint64)
    skipped = -room.__array_interface__["data"][0] % _LINE // room.itemsize
    return room[skipped : skipped + count * _WORDS]


def expected_rate(bits: int, keys_per_block: float) -> float:
    """Return the share of keys that were never inserted and pass all the same."""
    most = int(keys_per_block + 12 * math.sqrt(keys_per_block) + 24)
    chance, total = math.exp(-keys_per_block), 0.0
    for keys in range(most):
        total += chance * (1 - (1 - 1 / BLOCK_BITS) ** (bits * keys)) ** bits
        chance *= keys_per_block / (keys + 1)
    return total


def _keys_per_block(bits: int, fp_rate: float) -> float:
    low, high = 0.0, float(BLOCK_BITS)
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if expected_rate(bits, middle) <= fp_rate else (low, middle)
    return low


@inlined
def block_of(hash_: Hash, first: int, last: int) -> int:
    """Return the first word of a hash's block, of the blocks from first to last."""
    upper = hash_ >> np.uint64(32)
    return (first + signed((upper * np.uint64(last - first)) >> np.uint64(32))) * _WORDS


@inlined
def insert(words: Many[Long], first: int, last: int, hash_: Hash, bits: int) -> None:
    """Set the bits of a hash."""
    block = block_of(hash_, first, last)
    rest = mix(hash_)
    for _ in range(bits):
        word = block + signed((rest >> np.uint64(6)) & np.uint64(7))
        words[word] |= signed(np.uint64(1) << (rest & np.uint64(63)))
        rest >>= np.uint64(9)


@kernel
def insert_all(words: Address, first: int, last: int, hashes: npt.NDArray[np.uint64], bits: int) -> None:
    """Set the bits of many hashes in the words at an address."""
    for each in hashes:
        insert(longs(words), first, last, each, bits)


@inlined
def may_contain(words: Many[Long], first: int, last: int, hash_: Hash, bits: int) -> bool:
    """Say whether the hash may have been inserted; false is certain."""
    block = block_of(hash_, first, last)
    rest = mix(hash_)
    found = np.uint64(1)
    for _ in range(bits):
        word = np.uint64(words[block + signed((rest >> np.uint64(6)) & np.uint64(7))])
        found &= word >> (rest & np.uint64(63))
        rest >>= np.uint64(9)
    return bool(found != np.uint64(0))
