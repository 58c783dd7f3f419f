"""The walk of one event through the index, for a whole batch of events: whom it finds, and whom it may find.

Per row: first the key of every slot's value, then every list that the values lead to, then the checks of the
alternatives in these. No Python object is touched, so threads run side by side.

All kernels take addresses: `t` of the tables, `c` of the cells, `o` of the room for what is found, `n` of the counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.cells import DOUBLE, INT, LIST, MAP, NULL, STRING
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.arguments import (
    CANDIDATE_PAIRS,
    CANDIDATE_ROOM,
    CANDIDATES,
    COLUMNS,
    EPOCH,
    FORM_SEEN,
    GRAM_SEEN,
    KEYS,
    KIND,
    LENGTH,
    LOOKUP_BYTES,
    LOOKUP_ROOM,
    LOOKUPS,
    MATCHES,
    NEXT_ROW,
    NUMBER,
    PAIRS,
    PATTERN_AT,
    PATTERN_LIST,
    ROOM,
    ROWS,
    START,
    TEXT,
    VISITED,
    WIDTH,
)
from headrace.matching.index.grams import GRAM_TAG
from headrace.matching.index.holding import holds, is_too_dear, is_too_long
from headrace.matching.index.lookups import note_all, resolve, sieve
from headrace.matching.index.memory import add, address, byte, is_same, long, order_of, put_long, short
from headrace.matching.index.values import (
    constant_text,
    key_of,
    key_of_element,
    ordered,
)
from headrace.matching.machine import (
    byte_at,
    compiled,
    half_at,
    kernel,
    prefetch,
    put_word,
    word_at,
)

_LOWER = np.int64(0xFFFFFFFF)
_AHEAD = 4 * 16  # bytes of posts between the one that is looked at and the one whose alternative is asked for


@compiled
def _visit(t: Any, c: Any, o: Any, group: Any, list_: Any, row: Any, n: Any) -> Any:
    """Look at the alternatives of a list; false where there is no room left for what was found."""
    return _visit_posts(t, c, o, group, long(t, T.LIST_AT, list_), long(t, T.LIST_AT, list_ + 1), row, n)


@compiled
def _visit_key(t: Any, c: Any, o: Any, group: Any, key: Any, row: Any, n: Any) -> Any:
    """Look at the alternatives of a key's list."""
    ends = long(t, T.KEYS, 4 * key + 1)
    return _visit_posts(t, c, o, group, ends & _LOWER, ends >> 32, row, n)


@compiled
def _visit_posts(t: Any, c: Any, o: Any, group: Any, first: Any, last: Any, row: Any, n: Any) -> Any:
    add(n, VISITED, last - first)
    keys = address(o, KEYS)
    post = address(t, T.POSTS) + 16 * first
    end = address(t, T.POSTS) + 16 * last
    alternatives = address(t, T.ALTERNATIVES)
    while post < end:
        if post + _AHEAD < end and half_at(post + _AHEAD + 12) < 0:
            prefetch(alternatives + 32 * half_at(post + _AHEAD + 8))
        slot = half_at(post)
        if slot < 0 or word_at(keys + 8 * slot) == half_at(post + 4):
            member = half_at(post + 12)
            if member < 0:
                if not _settle(t, c, o, group, half_at(post + 8), row, n):
                    return False
            else:
                matches = word_at(n + 8 * MATCHES)
                if matches >= word_at(n + 8 * ROOM):
                    return False
                put_word(address(o, PAIRS) + 8 * matches, row << 32 | member)
                put_word(n + 8 * MATCHES, matches + 1)
        post += 16
    return True


@compiled
def _settle(t: Any, c: Any, o: Any, group: Any, alternative: Any, row: Any, n: Any) -> Any:
    """Do the remaining checks of an alternative; false where there is no room left."""
    at = address(t, T.ALTERNATIVES) + 32 * alternative
    check, last = address(t, T.CHECKS) + 16 * half_at(at), address(t, T.CHECKS) + 16 * half_at(at + 4)
    while check < last:
        if not holds(t, c, o, group, check, row, n):
            return True
        check += 16
    if half_at(at + 8) < 0:
        return _emit(t, o, half_at(at + 12), half_at(at + 16), half_at(at + 20), row, n)
    candidates = word_at(n + 8 * CANDIDATES)
    if candidates >= word_at(n + 8 * CANDIDATE_ROOM):
        return False
    put_word(address(o, CANDIDATE_PAIRS) + 8 * candidates, row << 32 | alternative)
    put_word(n + 8 * CANDIDATES, candidates + 1)
    return True


@compiled
def _emit(t: Any, o: Any, mark: Any, first: Any, last: Any, row: Any, n: Any) -> Any:
    """Note all members of a form, once per event."""
    if mark >= 0:
        if long(o, FORM_SEEN, mark) == word_at(n + 8 * EPOCH):
            return True
        put_long(o, FORM_SEEN, mark, word_at(n + 8 * EPOCH))
    matches = word_at(n + 8 * MATCHES) - first
    if matches + last > word_at(n + 8 * ROOM):
        return False
    pairs, found = address(o, PAIRS), address(t, T.FORM_MEMBER)
    for each in range(first, last):
        put_word(pairs + 8 * (matches + each), row << 32 | half_at(found + 4 * each))
    put_word(n + 8 * MATCHES, matches + last)
    return True


@compiled
def _visit_tree(t: Any, c: Any, o: Any, group: Any, tree: Any, leaf: Any, row: Any, n: Any) -> Any:
    node = leaf + 2 * (long(t, T.TREE_AT, tree + 1) - long(t, T.TREE_AT, tree)) + 1
    base = short(t, T.TREE_LIST, tree)
    lists = address(t, T.LIST_AT)
    while node >= 1:
        at = lists + 8 * (base + node)
        if word_at(at) < word_at(at + 8) and not _visit(t, c, o, group, base + node, row, n):
            return False
        node >>= 1
    return True


@compiled
def _leaf_of_number(t: Any, tree: Any, value: Any) -> Any:
    first, last = long(t, T.TREE_AT, tree), long(t, T.TREE_AT, tree + 1)
    low, high = first, last
    while low < high:
        middle = (low + high) >> 1
        if long(t, T.CUTS, middle) < value:
            low = middle + 1
        else:
            high = middle
    exact = low < last and long(t, T.CUTS, low) == value
    return 2 * (low - first) + np.int64(exact)


@compiled
def _leaf_of_text(t: Any, tree: Any, text: Any, length: Any) -> Any:
    first, high = long(t, T.TREE_AT, tree), long(t, T.TREE_AT, tree + 1)
    low = first
    while low < high:
        middle = (low + high) >> 1
        other, size = constant_text(t, long(t, T.CUTS, middle))
        order = order_of(other, size, text, length)
        if order == 0:
            return 2 * (middle - first) + 1
        if order < 0:
            low = middle + 1
        else:
            high = middle
    return 2 * (low - first)


@compiled
def _gram(text: Any, size: Any) -> Any:
    value = byte_at(text)
    for place in range(1, size):
        value |= byte_at(text + place) << (8 * place)
    return value


@compiled
def _visit_gram(
    t: Any, c: Any, o: Any, group: Any, key: Any, text: Any, place: Any, length: Any, row: Any, n: Any
) -> Any:
    """Compare every text that has this gram with the one around it; what is found counts once per event."""
    entry = key - short(t, T.GRAM_FIRST, 0)
    epoch = word_at(n + 8 * EPOCH)
    for each in range(short(t, T.GRAM_AT, entry), short(t, T.GRAM_AT, entry + 1)):
        mark = short(t, T.GRAM_MARK, each)
        at = place - short(t, T.GRAM_OFFSET, each)
        other, size = constant_text(t, short(t, T.GRAM_TEXT, each))
        if (
            long(o, GRAM_SEEN, mark) == epoch
            or at < 0
            or at + size > length
            or not is_same(text + at, other, size)
        ):
            continue
        put_long(o, GRAM_SEEN, mark, epoch)
        if not _visit(t, c, o, group, short(t, T.GRAM_LIST, each), row, n):
            return False
    return True


@compiled
def _visit_grams(
    t: Any, c: Any, o: Any, group: Any, slot: Any, text: Any, length: Any, row: Any, n: Any
) -> Any:
    for size in range(1, 5):
        if not (byte(t, T.SLOT_GRAMS, slot) >> size) & 1:
            continue
        for place in range(length - size + 1):
            key = key_of(t, group, slot, T.GRAM_SPACE, _gram(text + place, size), -(GRAM_TAG + size), n)
            if key >= 0 and not _visit_gram(t, c, o, group, key, text, place, length, row, n):
                return False
    return True


@compiled
def _visit_text(
    t: Any, c: Any, o: Any, group: Any, slot: Any, text: Any, length: Any, row: Any, n: Any
) -> Any:
    """Visit the lists of a string by what it contains and where it lies."""
    searched = byte(t, T.SLOT_GRAMS, slot) and not is_too_long(text, length)
    if searched and not _visit_grams(t, c, o, group, slot, text, length, row, n):
        return False
    tree = short(t, T.SLOT_TREE, 3 * slot + 2)
    return tree < 0 or _visit_tree(t, c, o, group, tree, _leaf_of_text(t, tree, text, length), row, n)


@compiled
def _visit_number(
    t: Any, c: Any, o: Any, group: Any, slot: Any, kind: Any, number: Any, row: Any, n: Any
) -> Any:
    tree = short(t, T.SLOT_TREE, 3 * slot + (0 if kind == INT else 1))
    if tree < 0:
        return True
    leaf = _leaf_of_number(t, tree, number if kind == INT else ordered(number))
    return _visit_tree(t, c, o, group, tree, leaf, row, n)


@compiled
def _visit_elements(
    t: Any, c: Any, o: Any, group: Any, slot: Any, kind: Any, first: Any, count: Any, row: Any, n: Any
) -> Any:
    for element in range(first, first + count):
        key = key_of_element(t, c, group, slot, element, n)
        if key >= 0 and kind == LIST and is_too_dear(t, key, count):
            continue
        if key >= 0 and not _visit_key(t, c, o, group, key, row, n):
            return False
    return True


@compiled
def _visit_slot(t: Any, c: Any, o: Any, group: Any, local: Any, row: Any, n: Any) -> Any:
    """Visit every list that one field's value leads to."""
    slot = short(t, T.GROUP_AT, group) + local
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    kind = byte(c, KIND, cell)
    if kind < NULL:
        return True
    presence = short(t, T.SLOT_LIST, slot)
    if presence >= 0 and not _visit(t, c, o, group, presence, row, n):
        return False
    if kind == STRING:
        text = address(c, TEXT) + long(c, START, cell)
        return _visit_text(t, c, o, group, slot, text, short(c, LENGTH, cell), row, n)
    if kind in (INT, DOUBLE):
        return _visit_number(t, c, o, group, slot, kind, long(c, NUMBER, cell), row, n)
    if kind in (LIST, MAP) and byte(t, T.SLOT_ELEMENTS, slot):
        return _visit_elements(
            t, c, o, group, slot, kind, long(c, START, cell), short(c, LENGTH, cell), row, n
        )
    return True


@compiled
def _match_row(
    t: Any, c: Any, o: Any, lookups: Any, group: Any, slots: Any, count: Any, row: Any, n: Any
) -> Any:
    """Take a row through the index; its look-ups have passed the Bloom filter."""
    resolve(t, o, lookups, slots, count, n)
    if not _visit(t, c, o, group, short(t, T.GROUP_LIST, group), row, n):
        return False
    for each in range(count):
        key = word_at(lookups + LOOKUP_BYTES * each + 40)
        if key >= 0 and not _visit_key(t, c, o, group, key, row, n):
            return False
    for local in range(slots):
        if not _visit_slot(t, c, o, group, local, row, n):
            return False
    for each in range(long(c, PATTERN_AT, row), long(c, PATTERN_AT, row + 1)):
        if not _visit(t, c, o, group, short(c, PATTERN_LIST, each), row, n):
            return False
    return True


@kernel
def match_rows(t: Any, c: Any, o: Any, group: Any, n: Any) -> Any:
    """Match rows from `NEXT_ROW` on, and stop before the first for which there is no room.

    Three rows are under way at a time, each with look-ups of its own: what one will need of memory is asked for while
    another is matched.
    """
    slots = short(t, T.GROUP_AT, group + 1) - short(t, T.GROUP_AT, group)
    row = word_at(n + 8 * NEXT_ROW)
    now = address(o, LOOKUPS)
    soon = now + word_at(n + 8 * LOOKUP_ROOM)
    later = soon + word_at(n + 8 * LOOKUP_ROOM)
    count = sieve(t, now, group, note_all(t, c, now, group, slots, row, n), n)
    noted = note_all(t, c, soon, group, slots, row + 1, n)
    while row < word_at(n + 8 * ROWS):
        next_noted = note_all(t, c, later, group, slots, row + 2, n)
        next_count = sieve(t, soon, group, noted, n)
        matches, candidates = word_at(n + 8 * MATCHES), word_at(n + 8 * CANDIDATES)
        add(n, EPOCH, 1)
        if not _match_row(t, c, o, now, group, slots, count, row, n):
            put_word(n + 8 * MATCHES, matches)
            put_word(n + 8 * CANDIDATES, candidates)
            break
        row += 1
        now, soon, later = soon, later, now
        count, noted = next_count, next_noted
    put_word(n + 8 * NEXT_ROW, row)
