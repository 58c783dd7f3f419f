"""How kernels read and write arrays: by a table of their addresses and a place in the array.

Nothing checks a place against the end of its array: every caller answers for what it asks.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.machine import byte_at, half_at, inlined, put_half, put_word, word_at


@inlined
def address(arrays: Any, number: Any) -> Any:
    """Return where an array begins."""
    return word_at(arrays + 8 * number)


@inlined
def byte(arrays: Any, number: Any, offset: Any) -> Any:
    """Return an element of an array of bytes."""
    return byte_at(word_at(arrays + 8 * number) + offset)


@inlined
def short(arrays: Any, number: Any, offset: Any) -> Any:
    """Return an element of an array of 32-bit integers."""
    return half_at(word_at(arrays + 8 * number) + 4 * offset)


@inlined
def long(arrays: Any, number: Any, offset: Any) -> Any:
    """Return an element of an array of 64-bit integers."""
    return word_at(word_at(arrays + 8 * number) + 8 * offset)


@inlined
def put_short(arrays: Any, number: Any, offset: Any, value: Any) -> Any:
    """Store an element of an array of 32-bit integers."""
    put_half(word_at(arrays + 8 * number) + 4 * offset, value)


@inlined
def put_long(arrays: Any, number: Any, offset: Any, value: Any) -> Any:
    """Store an element of an array of 64-bit integers."""
    put_word(word_at(arrays + 8 * number) + 8 * offset, value)


@inlined
def add(counts: Any, number: Any, value: Any) -> Any:
    """Add to one of the numbers at an address."""
    put_word(counts + 8 * number, word_at(counts + 8 * number) + value)


@inlined
def is_same(one: Any, other: Any, length: Any) -> Any:
    """Say whether the bytes at two addresses are equal."""
    offset = 0
    while offset + 8 <= length:
        if word_at(one + offset) != word_at(other + offset):
            return False
        offset += 8
    while offset < length:
        if byte_at(one + offset) != byte_at(other + offset):
            return False
        offset += 1
    return True


@inlined
def order_of(one: Any, length: Any, other: Any, other_length: Any) -> Any:
    """Return a negative number, zero or a positive one, as the first bytes stand before the others or after."""
    for offset in range(min(length, other_length)):
        difference = byte_at(one + offset) - byte_at(other + offset)
        if difference != 0:
            return difference
    return np.int64(length - other_length)
