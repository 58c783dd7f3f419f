"""The walk of one event through the index, for a whole batch of events: whom it finds, and whom it may find.

Per row: first the key of every slot's value, then every list that the values lead to, then the checks of the
alternatives in these. No Python object is touched, so threads run side by side.

All kernels take addresses: `t` of the tables, `c` of the cells, `o` of the room for what is found, `n` of the counts.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.filters.values.budget import LONGEST_SCANNED, MOST_SEARCHED, SEARCHED
from headrace.matching.cells import ABSENT, DOUBLE, INT, LIST, MAP, NULL, STRING
from headrace.matching.checks import (
    BETWEEN,
    CONSTANT_KEY,
    CONTAINS,
    CONTAINS_NOT,
    ENDS,
    ENDS_NOT,
    EQUAL,
    HAS,
    INCLUDES,
    INCLUDES_NOT,
    LACKS,
    NO_KEY,
    NONE_OF,
    NUMBER_KEY,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    STARTS,
    STARTS_NOT,
    UNEQUAL,
    WITHIN,
)
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.bloom import block_of, may_contain
from headrace.matching.index.grams import GRAM_TAG
from headrace.matching.index.hashing import hash_text, hash_word, mix
from headrace.matching.index.keys import INLINE, find, tagged
from headrace.matching.index.memory import add, address, byte, is_same, long, order_of, put_long, short
from headrace.matching.scan.machine import (
    byte_at,
    compiled,
    double_bits,
    half_at,
    kernel,
    prefetch,
    put_word,
    word_at,
)

# Places in the array of counts. `ASKED`: look-ups; `PASSED`: those that the Bloom filter let pass; `FOUND`: those that
# the table has a key for. `MASK`, `ROOM`, `CANDIDATE_ROOM`, `ROWS`, `WIDTH` and `LOOKUP_ROOM` are told by the caller.
(
    MATCHES,
    CANDIDATES,
    VISITED,
    ASKED,
    PASSED,
    FOUND,
    NEXT_ROW,
    EPOCH,
    MASK,
    ROOM,
    CANDIDATE_ROOM,
    ROWS,
    WIDTH,
    LOOKUP_ROOM,
    COUNTS,
) = range(15)

# Places of the arrays among the addresses of cells, and of those of the room.
(
    KIND,
    NUMBER,
    START,
    LENGTH,
    ELEMENT_KIND,
    ELEMENT_NUMBER,
    ELEMENT_START,
    ELEMENT_LENGTH,
    TEXT,
    COLUMNS,
    PATTERN_AT,
    PATTERN_LIST,
) = range(12)
PAIRS, CANDIDATE_PAIRS, FORM_SEEN, GRAM_SEEN, KEYS, LOOKUPS = range(6)
LOOKUP_WORDS = 6
LOOKUP_BYTES = 48
UNDER_WAY = 3

_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)
_LOWER = np.int64(0xFFFFFFFF)
_AHEAD = 4 * 16  # bytes of posts between the one that is looked at and the one whose alternative is asked for


@compiled
def _passes(t: Any, group: Any, hash_: Any, n: Any) -> Any:
    add(n, ASKED, 1)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    if not may_contain(address(t, T.BLOOM), first, last, hash_, short(t, T.BLOOM_BITS, 0)):
        return False
    add(n, PASSED, 1)
    return True


@compiled
def _seed(t: Any, slot: Any, space: Any) -> Any:
    return mix(np.uint64(long(t, T.SLOT_SEED, slot)) ^ np.uint64(space))


@compiled
def _hash(value: Any, tag: Any, seed: Any) -> Any:
    return hash_text(value, tag, seed) if tag >= 0 else hash_word(tagged(value, tag), seed)


@compiled
def _key(t: Any, group: Any, slot: Any, space: Any, value: Any, tag: Any, n: Any) -> Any:
    """Return the key of a text or value, or -1 where no check asks for it."""
    hash_ = _hash(value, tag, _seed(t, slot, space))
    if not _passes(t, group, hash_, n):
        return np.int64(-1)
    key = find(t, word_at(n + 8 * MASK), slot * T.SPACES + space, tag, hash_, value)
    add(n, FOUND, np.int64(key >= 0))
    return key


@compiled
def _tag(kind: Any, length: Any) -> Any:
    """Return how a value is looked up: a text by its length, lists and maps not at all."""
    if kind == STRING:
        return length
    if kind in (INT, DOUBLE):
        return np.int64(NUMBER_KEY)
    return np.int64(CONSTANT_KEY) if kind < STRING else np.int64(NO_KEY)


@compiled
def _value(kind: Any, number: Any, text: Any) -> Any:
    """Return what a value is looked up by: a text's address, or the number of all that is equal to it."""
    if kind == STRING:
        return text
    if kind == INT:
        return double_bits(np.float64(number))
    if kind == DOUBLE:
        return np.int64(0) if number == ~_SIGN else number  # zero has one sign
    return np.int64(kind - NULL)


@compiled
def _key_of_element(t: Any, c: Any, group: Any, slot: Any, element: Any, n: Any) -> Any:
    kind = byte(c, ELEMENT_KIND, element)
    tag = _tag(kind, short(c, ELEMENT_LENGTH, element))
    if tag == NO_KEY:
        return np.int64(-1)
    text = address(c, TEXT) + long(c, ELEMENT_START, element)
    return _key(t, group, slot, T.ELEMENT_SPACE, _value(kind, long(c, ELEMENT_NUMBER, element), text), tag, n)


@compiled
def _ordered(bits: Any) -> Any:
    return bits if bits >= 0 else -(bits & _SIGN)


@compiled
def _constant(t: Any, number: Any) -> Any:
    """Return the address of a constant text, and its length."""
    start = long(t, T.TEXT_AT, number)
    return address(t, T.TEXT) + start, long(t, T.TEXT_AT, number + 1) - start


@compiled
def _is_too_long(text: Any, length: Any) -> Any:
    """Say whether a text has more characters than a clause may search; what it contains is unknown then."""
    if length <= LONGEST_SCANNED:
        return False
    characters = 0
    for place in range(length):
        characters += (byte_at(text + place) & 0xC0) != 0x80
    return characters > LONGEST_SCANNED


@compiled
def _is_too_dear(t: Any, key: Any, count: Any) -> Any:
    """Say whether it costs more than a clause may to look for a constant among so many elements."""
    return count * (SEARCHED + _characters(t, key)) > MOST_SEARCHED


@compiled
def _characters(t: Any, key: Any) -> Any:
    length = long(t, T.KEYS, 4 * key) >> 32
    if length > INLINE:
        return long(t, T.KEYS, 4 * key + 3)
    at, characters = address(t, T.KEYS) + 32 * key + 16, np.int64(0)
    for place in range(length):
        characters += (byte_at(at + place) & 0xC0) != 0x80
    return characters


@compiled
def _occurs(other: Any, size: Any, text: Any, length: Any) -> Any:
    for place in range(length - size + 1):  # noqa: SIM110 -- kernels have no generators
        if is_same(text + place, other, size):
            return True
    return False


@compiled
def _is_at(other: Any, size: Any, text: Any, length: Any, from_end: Any) -> Any:
    if size > length:
        return False
    return is_same(text + length - size if from_end else text, other, size)


@compiled
def _in_set(t: Any, set_: Any, key: Any) -> Any:
    if key < 0:
        return False
    low, last = long(t, T.SET_AT, set_), long(t, T.SET_AT, set_ + 1)
    high = last
    while low < high:
        middle = (low + high) >> 1
        if short(t, T.SET_KEY, middle) < key:
            low = middle + 1
        else:
            high = middle
    return low < last and short(t, T.SET_KEY, low) == key


@compiled
def _in_interval(t: Any, value: Any, kind: Any, number: Any) -> Any:
    if kind == INT:
        return long(t, T.INTERVAL, 4 * value) <= number <= long(t, T.INTERVAL, 4 * value + 1)
    if kind == DOUBLE:
        return long(t, T.INTERVAL, 4 * value + 2) <= _ordered(number) <= long(t, T.INTERVAL, 4 * value + 3)
    return False


@compiled
def _in_span(t: Any, value: Any, text: Any, length: Any) -> Any:
    low, high, open_ = (
        long(t, T.SPAN, 3 * value),
        long(t, T.SPAN, 3 * value + 1),
        long(t, T.SPAN, 3 * value + 2),
    )
    if low >= 0:
        other, size = _constant(t, low)
        order = order_of(text, length, other, size)
        if order < 0 or (order == 0 and open_ & OPEN_BELOW):
            return False
    if high >= 0:
        other, size = _constant(t, high)
        order = order_of(text, length, other, size)
        if order > 0 or (order == 0 and open_ & OPEN_ABOVE):
            return False
    return True


@compiled
def _includes(t: Any, c: Any, group: Any, slot: Any, wanted: Any, first: Any, count: Any, n: Any) -> Any:
    for element in range(first, first + count):
        key = _key_of_element(t, c, group, slot, element, n)
        if key >= 0 and key == wanted:
            return True
    return False


@compiled
def _holds_of_text(t: Any, code: Any, value: Any, size: Any, text: Any, length: Any) -> Any:
    if code == BETWEEN:
        return _in_span(t, value, text, length)
    other = address(t, T.TEXT) + value
    if code in (STARTS, STARTS_NOT):
        return _is_at(other, size, text, length, False) == (code == STARTS)
    if code in (ENDS, ENDS_NOT):
        return _is_at(other, size, text, length, True) == (code == ENDS)
    if code in (CONTAINS, CONTAINS_NOT):
        if _is_too_long(text, length):
            return False
        return _occurs(other, size, text, length) == (code == CONTAINS)
    return False


@compiled
def _holds_of_key(t: Any, code: Any, value: Any, key: Any) -> Any:
    if code == EQUAL:
        return key >= 0 and key == value
    if code == UNEQUAL:
        return value < 0 or key != value
    return _in_set(t, value, key) == (code == ONE_OF)


@compiled
def _holds(t: Any, c: Any, o: Any, group: Any, check: Any, row: Any, n: Any) -> Any:  # noqa: PLR0911 -- one per kind of check
    code, local, value = half_at(check), half_at(check + 4), half_at(check + 8)
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    kind = byte(c, KIND, cell)
    if code == LACKS:
        return kind == ABSENT
    if kind < NULL:
        return False
    if code == HAS:
        return True
    if code in (EQUAL, UNEQUAL, ONE_OF, NONE_OF):
        return _holds_of_key(t, code, value, long(o, KEYS, local))
    if code == WITHIN:
        return _in_interval(t, value, kind, long(c, NUMBER, cell))
    if code in (INCLUDES, INCLUDES_NOT):
        if kind not in (LIST, MAP):
            return False
        if kind == LIST and value >= 0 and _is_too_dear(t, value, short(c, LENGTH, cell)):
            return False
        slot = short(t, T.GROUP_AT, group) + local
        found = _includes(t, c, group, slot, value, long(c, START, cell), short(c, LENGTH, cell), n)
        return found == (code == INCLUDES)
    if kind != STRING:
        return False
    text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
    return _holds_of_text(t, code, value, half_at(check + 12), text, length)


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
        if not _holds(t, c, o, group, check, row, n):
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
        other, size = _constant(t, long(t, T.CUTS, middle))
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
        other, size = _constant(t, short(t, T.GRAM_TEXT, each))
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
            key = _key(t, group, slot, T.GRAM_SPACE, _gram(text + place, size), -(GRAM_TAG + size), n)
            if key >= 0 and not _visit_gram(t, c, o, group, key, text, place, length, row, n):
                return False
    return True


@compiled
def _visit_text(
    t: Any, c: Any, o: Any, group: Any, slot: Any, text: Any, length: Any, row: Any, n: Any
) -> Any:
    """Visit the lists of a string by what it contains and where it lies."""
    searched = byte(t, T.SLOT_GRAMS, slot) and not _is_too_long(text, length)
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
    leaf = _leaf_of_number(t, tree, number if kind == INT else _ordered(number))
    return _visit_tree(t, c, o, group, tree, leaf, row, n)


@compiled
def _visit_elements(
    t: Any, c: Any, o: Any, group: Any, slot: Any, kind: Any, first: Any, count: Any, row: Any, n: Any
) -> Any:
    for element in range(first, first + count):
        key = _key_of_element(t, c, group, slot, element, n)
        if key >= 0 and kind == LIST and _is_too_dear(t, key, count):
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
def _note(
    t: Any, lookups: Any, group: Any, slot: Any, space: Any, value: Any, tag: Any, local: Any, count: Any
) -> Any:
    """Note a look-up, and ask for the memory that it will need first. Many are under way at a time."""
    hash_ = _hash(value, tag, _seed(t, slot, space))
    at = lookups + LOOKUP_BYTES * count
    put_word(at, np.int64(hash_))
    put_word(at + 8, slot * T.SPACES + space)
    put_word(at + 16, tag)
    put_word(at + 24, value)
    put_word(at + 32, local)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    prefetch(address(t, T.BLOOM) + block_of(hash_, first, last))
    return count + 1


@compiled
def _note_ends(t: Any, lookups: Any, group: Any, slot: Any, text: Any, length: Any, count: Any) -> Any:
    """Note the beginnings and endings of a text, in every length in use."""
    for each in range(short(t, T.SLOT_START_AT, slot), short(t, T.SLOT_START_AT, slot + 1)):
        size = short(t, T.START_LENGTH, each)
        if size > length:
            break
        count = _note(t, lookups, group, slot, T.START_SPACE, text, size, np.int64(-1), count)
    for each in range(short(t, T.SLOT_END_AT, slot), short(t, T.SLOT_END_AT, slot + 1)):
        size = short(t, T.END_LENGTH, each)
        if size > length:
            break
        count = _note(t, lookups, group, slot, T.END_SPACE, text + length - size, size, np.int64(-1), count)
    return count


@compiled
def _note_all(t: Any, c: Any, lookups: Any, group: Any, slots: Any, row: Any, n: Any) -> Any:
    """Note every look-up that a row needs, if there is such a row, and return how many these are."""
    if row >= word_at(n + 8 * ROWS):
        return np.int64(0)
    first = short(t, T.GROUP_AT, group)
    count = np.int64(0)
    for local in range(slots):
        cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
        kind = byte(c, KIND, cell)
        if kind < NULL or kind > STRING:
            continue
        slot = first + local
        text, length = address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell)
        if byte(t, T.SLOT_HAS_KEYS, slot):
            value = _value(kind, long(c, NUMBER, cell), text)
            count = _note(t, lookups, group, slot, T.EQUAL_SPACE, value, _tag(kind, length), local, count)
        if kind == STRING:
            count = _note_ends(t, lookups, group, slot, text, length, count)
    return count


@compiled
def _sieve(t: Any, lookups: Any, group: Any, count: Any, n: Any) -> Any:
    """Keep the look-ups that pass the Bloom filter, in their order, and ask for the cells of these alone."""
    cells, mask = address(t, T.CELLS), word_at(n + 8 * MASK)
    words, bits = address(t, T.BLOOM), short(t, T.BLOOM_BITS, 0)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    at = to = lookups
    end = at + LOOKUP_BYTES * count
    while at < end:
        hash_ = word_at(at)
        if may_contain(words, first, last, np.uint64(hash_), bits):
            prefetch(cells + 8 * (hash_ & mask))
            for word in range(0, 40, 8):
                put_word(to + word, word_at(at + word))
            to += LOOKUP_BYTES
        at += LOOKUP_BYTES
    kept = (to - lookups) // LOOKUP_BYTES
    add(n, ASKED, count)
    add(n, PASSED, kept)
    return kept


@compiled
def _resolve(t: Any, o: Any, lookups: Any, slots: Any, count: Any, n: Any) -> Any:
    """Turn look-ups into keys; each equality's key is noted for its slot."""
    for local in range(slots):
        put_long(o, KEYS, local, np.int64(-1))
    keys, posts, cells = address(t, T.KEYS), address(t, T.POSTS), address(t, T.CELLS)
    mask = word_at(n + 8 * MASK)
    for each in range(count):
        hash_ = word_at(lookups + LOOKUP_BYTES * each)
        prefetch(keys + 32 * (word_at(cells + 8 * (hash_ & mask)) & _LOWER))
    for each in range(count):
        at = lookups + LOOKUP_BYTES * each
        key = find(t, mask, word_at(at + 8), word_at(at + 16), np.uint64(word_at(at)), word_at(at + 24))
        if key >= 0:
            add(n, FOUND, 1)
            prefetch(posts + 16 * (word_at(keys + 32 * key + 8) & _LOWER))
        put_word(at + 40, key)
        local = word_at(at + 32)
        if local >= 0:
            put_long(o, KEYS, local, key)


@compiled
def _match_row(
    t: Any, c: Any, o: Any, lookups: Any, group: Any, slots: Any, count: Any, row: Any, n: Any
) -> Any:
    """Take a row through the index; its look-ups have passed the Bloom filter."""
    _resolve(t, o, lookups, slots, count, n)
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
    count = _sieve(t, now, group, _note_all(t, c, now, group, slots, row, n), n)
    noted = _note_all(t, c, soon, group, slots, row + 1, n)
    while row < word_at(n + 8 * ROWS):
        next_noted = _note_all(t, c, later, group, slots, row + 2, n)
        next_count = _sieve(t, soon, group, noted, n)
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
