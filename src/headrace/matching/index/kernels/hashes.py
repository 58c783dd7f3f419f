"""The hash of keys, the same in kernels, in Python through them, and in an exported Bloom filter.

`h = seed; for each 8 bytes w, little endian, the last ones padded with zeros: h = mix(h ^ w); h = mix(h ^ length)`,
where `mix(h)` is the upper half of the 128 bits of `h * M`, xor the lower half, and M = 0x9E3779B97F4A7C15. What a bit
of a text changes depends on the seed then, which nobody else knows: changes that cancel can't be chosen beforehand.

A number hashes as its 8 bytes. The seed of a key is `mix(hash of the slot's name ^ space)`; the slot's name,
`namespace/channel` and the operand's CEL with a zero byte between them, is hashed with the seed of the index.
`headrace.filters.upstream.key_hash` is the same in plain Python.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np

from headrace.matching.machine import (
    CHECKED,
    Address,
    address_of,
    byte_at,
    high_product,
    inlined,
    kernel,
    word_at,
)

Hash: TypeAlias = np.uint64

_M = np.uint64(0x9E3779B97F4A7C15)
_EIGHT = np.uint64(8)
_ONE = np.uint64(1)
_WITHIN_PAGE, _LAST_WORD = 4095, 4088
"""Memory is handed out in pages of 4096 bytes or more: a word that begins so far from a page's end lies in the page."""


@inlined
def mix(value: Hash) -> Hash:
    """Spread 64 bits."""
    mixed: Hash = (value * _M) ^ high_product(value, _M)
    return mixed


@inlined
def hash_word(word: np.uint64, seed: Hash) -> Hash:
    """Hash 64 bits."""
    return mix(mix(seed ^ word) ^ _EIGHT)


@inlined
def _rest(position: Address, end: Address) -> np.uint64:
    """Return the last bytes, fewer than eight, padded with zeros."""
    if (
        not CHECKED and position & _WITHIN_PAGE <= _LAST_WORD
    ):  # what lies behind the end may be read there, and is cut off
        mask: np.uint64 = (_ONE << np.uint64(8 * (end - position))) - _ONE
        return np.uint64(word_at(position)) & mask
    word = np.uint64(0)
    shift = np.uint64(0)
    while position < end:
        word |= np.uint64(byte_at(position)) << shift
        shift += _EIGHT
        position += 1
    return word


@inlined
def hash_text(text: Address, length: int, seed: Hash) -> Hash:
    """Hash the bytes at an address."""
    value = seed
    position = text
    end = text + length
    while position + 8 <= end:
        value = mix(value ^ np.uint64(word_at(position)))
        position += 8
    if position < end:
        value = mix(value ^ _rest(position, end))
    return mix(value ^ np.uint64(length))


def hash_of(text: bytes, seed: int) -> int:
    """Hash bytes."""
    array = np.frombuffer(text, np.uint8)
    return int(_hash_at(address_of(array, "text"), len(text), np.uint64(seed)))


@kernel
def _hash_at(text: Address, length: int, seed: Hash) -> Hash:
    return hash_text(text, length, seed)
