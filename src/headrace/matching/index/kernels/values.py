"""The key of a value: how values are hashed, and whether any check asks for one."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.extraction.cells import DOUBLE, INT, NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.bloom import may_contain
from headrace.matching.index.kernels.arguments import (
    ASKED,
    ELEMENT_KIND,
    ELEMENT_LENGTH,
    ELEMENT_NUMBER,
    ELEMENT_START,
    FOUND,
    MASK,
    PASSED,
    TEXT,
)
from headrace.matching.index.kernels.hashes import hash_text, hash_word
from headrace.matching.index.kernels.keys import find, tagged
from headrace.matching.index.kernels.memory import add, address, byte, long, short
from headrace.matching.machine import compiled, double_bits, inlined, word_at
from headrace.matching.rules.checks import CONSTANT_KEY, NO_KEY, NUMBER_KEY

_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


@inlined
def passes(t: Any, group: Any, hash_: Any, n: Any) -> Any:
    """Ask the group's Bloom filter, and count the question."""
    add(n, ASKED, 1)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    if not may_contain(address(t, T.BLOOM), first, last, hash_, short(t, T.BLOOM_BITS, 0)):
        return False
    add(n, PASSED, 1)
    return True


@inlined
def hash_of_value(value: Any, tag: Any, seed: Any) -> Any:
    """Hash a text at an address, where the tag is its length, or a number."""
    return hash_text(value, tag, seed) if tag >= 0 else hash_word(tagged(value, tag), seed)


@compiled
def key_of(t: Any, group: Any, slot: Any, space: Any, value: Any, tag: Any, n: Any) -> Any:
    """Return the key of a text or value, or -1 where no check asks for it."""
    owner = slot * T.SPACES + space
    hash_ = hash_of_value(value, tag, np.uint64(long(t, T.SEED, owner)))
    if not passes(t, group, hash_, n):
        return np.int64(-1)
    key = find(t, word_at(n + 8 * MASK), owner, tag, hash_, value)
    add(n, FOUND, np.int64(key >= 0))
    return key


@inlined
def tag_of(kind: Any, length: Any) -> Any:
    """Return how a value is looked up: a text by its length, lists and maps not at all."""
    if kind == STRING:
        return length
    if kind in (INT, DOUBLE):
        return np.int64(NUMBER_KEY)
    return np.int64(CONSTANT_KEY) if kind < STRING else np.int64(NO_KEY)


@inlined
def value_of(kind: Any, number: Any, text: Any) -> Any:
    """Return what a value is looked up by: a text's address, or the number of all that is equal to it."""
    if kind == STRING:
        return text
    if kind == INT:
        return double_bits(np.float64(number))
    if kind == DOUBLE:
        return np.int64(0) if number == ~_SIGN else number  # zero has one sign
    return np.int64(kind - NULL)


@compiled
def key_of_element(t: Any, c: Any, group: Any, slot: Any, element: Any, n: Any) -> Any:
    """Return the key of an element of a list, or -1."""
    kind = byte(c, ELEMENT_KIND, element)
    tag = tag_of(kind, short(c, ELEMENT_LENGTH, element))
    if tag == NO_KEY:
        return np.int64(-1)
    text = address(c, TEXT) + long(c, ELEMENT_START, element)
    return key_of(
        t, group, slot, T.ELEMENT_SPACE, value_of(kind, long(c, ELEMENT_NUMBER, element), text), tag, n
    )


@inlined
def ordered(bits: Any) -> Any:
    """Return an integer that orders as the double with these bits does."""
    return bits if bits >= 0 else -(bits & _SIGN)


@inlined
def constant_text(t: Any, number: Any) -> Any:
    """Return the address of a constant text, and its length."""
    start = long(t, T.TEXT_AT, number)
    return address(t, T.TEXT) + start, long(t, T.TEXT_AT, number + 1) - start
