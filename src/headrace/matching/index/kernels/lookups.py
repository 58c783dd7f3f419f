"""The look-ups of a row: noted, let through the Bloom filter, turned into keys.

Each step asks for the memory that the next one needs, and other rows are worked on until that has come.
"""

from __future__ import annotations

import numpy as np

from headrace.matching.extraction.cells import NULL, STRING
from headrace.matching.index.bloom import block_of, may_contain
from headrace.matching.index.kernels.keys import find
from headrace.matching.index.kernels.ranges import list_of_number
from headrace.matching.index.kernels.records import (
    ALWAYS,
    COLUMN_OF_SLOTS,
    CellPointers,
    Counts,
    Lookup,
    Row,
    TablePointers,
)
from headrace.matching.index.kernels.values import hash_of_value, tag_of, value_of
from headrace.matching.index.tables import END_SPACE, EQUAL_SPACE, SPACES, START_SPACE
from headrace.matching.machine import address, inlined, prefetch, signed

_LOWER = 0xFFFFFFFF


@inlined
def _note(
    t: TablePointers, lookup: Lookup, group: int, owner: int, value: int, tag: int, column: int
) -> None:
    """Note a look-up."""
    hash_ = hash_of_value(value, tag, np.uint64(t.seed[owner]))
    lookup.hash = signed(hash_)
    lookup.owner = owner
    lookup.tag = tag
    lookup.value = value
    lookup.column = column
    prefetch(address(t.bloom + block_of(hash_, t.bloom_at[group], t.bloom_at[group + 1])))


@inlined
def note(t: TablePointers, c: CellPointers, place: Row, group: int, row: int, n: Counts) -> None:
    """Note every look-up that a row needs, and the lists of the ranges that its numbers lie in."""
    first, last = t.group_at[group], t.group_at[group + 1]
    starts = COLUMN_OF_SLOTS + last - first - t.slot_start_at[first]
    ends = starts + t.slot_start_at[last] - t.slot_end_at[first]
    lists, lookups = place.lists, place.lookups
    count = 0
    for slot in range(first, last):
        cell = row * n.width + c.columns[slot - first]
        kind = c.kind[cell]
        list_ = -1
        if NULL <= kind <= STRING:
            text, length = c.text + c.start[cell], c.length[cell]
            number, owner = c.number[cell], slot * SPACES
            if t.slot_has_keys[slot]:
                value, column = value_of(kind, number, text), COLUMN_OF_SLOTS + slot - first
                _note(t, lookups[count], group, owner + EQUAL_SPACE, value, tag_of(kind, length), column)
                count += 1
            if kind == STRING:
                for each in range(t.slot_start_at[slot], t.slot_start_at[slot + 1]):
                    size = t.start_length[each]
                    if size > length:
                        break
                    _note(t, lookups[count], group, owner + START_SPACE, text, size, starts + each)
                    count += 1
                for each in range(t.slot_end_at[slot], t.slot_end_at[slot + 1]):
                    size = t.end_length[each]
                    if size > length:
                        break
                    end = text + length - size
                    _note(t, lookups[count], group, owner + END_SPACE, end, size, ends + each)
                    count += 1
            else:
                list_ = list_of_number(t, slot, kind, number)
                if list_ >= 0:
                    prefetch(address(t.list_at + list_))
        lists[slot - first] = list_
    place.count = count


@inlined
def sieve(t: TablePointers, place: Row, group: int, n: Counts) -> None:
    """Keep the look-ups that pass the Bloom filter, in their order, and ask for the cells of these alone."""
    cells, mask = t.cells, n.mask
    words, bits = t.bloom, t.bloom_bits[0]
    first, last = t.bloom_at[group], t.bloom_at[group + 1]
    lookups, kept = place.lookups, 0
    for each in range(place.count):
        lookup, to = lookups[each], lookups[kept]
        hash_ = lookup.hash
        to.hash = hash_
        to.owner = lookup.owner
        to.tag = lookup.tag
        to.value = lookup.value
        to.column = lookup.column
        if may_contain(words, first, last, np.uint64(hash_), bits):
            prefetch(address(cells + (hash_ & mask)))
            kept += 1
    n.asked += place.count
    n.passed += kept
    place.count = kept


@inlined
def approach(t: TablePointers, place: Row, n: Counts) -> None:
    """Ask for the keys that the cells name."""
    keys, cells, mask, lookups = t.keys, t.cells, n.mask, place.lookups
    for each in range(place.count):
        prefetch(address(keys[cells[lookups[each].hash & mask] & _LOWER]))


@inlined
def resolve(t: TablePointers, place: Row, group: int, n: Counts) -> None:
    """Turn look-ups into keys, each noted in its column, and ask for what stands in their lists."""
    first, last = t.group_at[group], t.group_at[group + 1]
    starts = t.slot_start_at[last] - t.slot_start_at[first]
    ends = t.slot_end_at[last] - t.slot_end_at[first]
    keys, lookups, posts, constants, mask = place.keys, place.lookups, t.posts, t.keys, n.mask
    for column in range(COLUMN_OF_SLOTS, COLUMN_OF_SLOTS + last - first + starts + ends):
        keys[column] = -1
    keys[ALWAYS] = 0
    found = 0
    for each in range(place.count):
        lookup = lookups[each]
        key = find(t, mask, lookup.owner, lookup.tag, np.uint64(lookup.hash), lookup.value)
        if key >= 0:
            found += 1
            prefetch(address(posts + constants[key].first))
        lookup.key = key
        keys[lookup.column] = key
    n.found += found
    lists = place.lists
    for local in range(last - first):
        list_ = lists[local]
        if list_ >= 0:
            prefetch(address(posts + t.list_at[list_]))
