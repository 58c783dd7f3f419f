"""The key of a value: how values are hashed, and whether any check asks for one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from headrace.matching.extraction.cells import DOUBLE, INT, NULL, STRING
from headrace.matching.index.bloom import may_contain
from headrace.matching.index.kernels.hashes import hash_text, hash_word
from headrace.matching.index.kernels.keys import find, tagged
from headrace.matching.index.tables import ELEMENT_SPACE, SPACES
from headrace.matching.machine import Address, compiled, double_bits, inlined
from headrace.matching.rules.checks import CONSTANT_KEY, NO_KEY, NUMBER_KEY

if TYPE_CHECKING:
    from headrace.matching.index.kernels.hashes import Hash
    from headrace.matching.index.kernels.records import CellPointers, Counts, TablePointers

_SIGN = 0x7FFFFFFFFFFFFFFF


@inlined
def passes(t: TablePointers, group: int, hash_: Hash, n: Counts) -> bool:
    """Ask the group's Bloom filter, and count the question."""
    n.asked += 1
    if not may_contain(t.bloom, t.bloom_at[group], t.bloom_at[group + 1], hash_, t.bloom_bits[0]):
        return False
    n.passed += 1
    return True


@inlined
def hash_of_value(value: int, tag: int, seed: Hash) -> Hash:
    """Hash a text at an address, where the tag is its length, or a number."""
    return hash_text(value, tag, seed) if tag >= 0 else hash_word(tagged(value, tag), seed)


@compiled
def key_of(t: TablePointers, group: int, slot: int, space: int, value: int, tag: int, n: Counts) -> int:
    """Return the key of a text or value, or -1 where no check asks for it."""
    owner = slot * SPACES + space
    hash_ = hash_of_value(value, tag, np.uint64(t.seed[owner]))
    if not passes(t, group, hash_, n):
        return -1
    key = find(t, n.mask, owner, tag, hash_, value)
    n.found += int(key >= 0)
    return key


@inlined
def tag_of(kind: int, length: int) -> int:
    """Return how a value is looked up: a text by its length, lists and maps not at all."""
    if kind == STRING:
        return length
    if kind in (INT, DOUBLE):
        return NUMBER_KEY
    return CONSTANT_KEY if kind < STRING else NO_KEY


@inlined
def value_of(kind: int, number: int, text: Address) -> int:
    """Return what a value is looked up by: a text's address, or the number of all that is equal to it."""
    if kind == STRING:
        return text
    if kind == INT:
        return double_bits(np.float64(number))
    if kind == DOUBLE:
        return 0 if number == ~_SIGN else number  # zero has one sign
    return kind - NULL


@compiled
def key_of_element(t: TablePointers, c: CellPointers, group: int, slot: int, element: int, n: Counts) -> int:
    """Return the key of an element of a list, or -1."""
    kind = c.element_kind[element]
    tag = tag_of(kind, c.element_length[element])
    if tag == NO_KEY:
        return -1
    value = value_of(kind, c.element_number[element], c.text + c.element_start[element])
    return key_of(t, group, slot, ELEMENT_SPACE, value, tag, n)


@inlined
def ordered(bits: int) -> int:
    """Return an integer that orders as the double with these bits does."""
    return bits if bits >= 0 else -(bits & _SIGN)


@inlined
def constant_text(t: TablePointers, number: int) -> tuple[Address, int]:
    """Return the address of a constant text, and its length."""
    start = t.text_at[number]
    return t.text + start, t.text_at[number + 1] - start
