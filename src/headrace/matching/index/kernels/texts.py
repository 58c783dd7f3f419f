"""Texts at addresses: whether they are equal, and which of two comes first."""

from __future__ import annotations

from headrace.matching.machine import Address, byte_at, inlined, word_at


@inlined
def is_same(one: Address, other: Address, length: int) -> bool:
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
def order_of(one: Address, length: int, other: Address, other_length: int) -> int:
    """Return a negative number, zero or a positive one, as the first bytes stand before the others or after."""
    for offset in range(min(length, other_length)):
        difference = byte_at(one + offset) - byte_at(other + offset)
        if difference != 0:
            return difference
    return length - other_length
