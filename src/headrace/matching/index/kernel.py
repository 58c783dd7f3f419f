"""The walk of one event through the index, for a whole batch of events: whom it finds, and whom it may find.

Per row: first the key of every slot's value, then every list that the values lead to, then the checks of the
alternatives in these. No Python object is touched, so threads run side by side.

All kernels take addresses: `t` of the tables, `c` of the cells, `o` of the room for what is found, `n` of the counts.
"""

from __future__ import annotations

import numpy as np

from headrace.matching.cells import ABSENT, DOUBLE, FALSE, INT, LIST, MAP, NULL, STRING, TRUE
from headrace.matching.checks import (
    BETWEEN,
    CONSTANT_KEY,
    CONTAINS,
    CONTAINS_NOT,
    ENDS,
    ENDS_NOT,
    EQUAL,
    FALSE_KEY,
    HAS,
    INCLUDES,
    INCLUDES_NOT,
    LACKS,
    NONE_OF,
    NULL_KEY,
    NUMBER_KEY,
    ONE_OF,
    OPEN_ABOVE,
    OPEN_BELOW,
    STARTS,
    STARTS_NOT,
    TRUE_KEY,
    UNEQUAL,
    WITHIN,
)
from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.bloom import may_contain
from headrace.matching.index.hashing import hash_text, hash_word, mix
from headrace.matching.index.keys import find_text, find_value, tagged
from headrace.matching.index.memory import add, address, byte, is_same, long, order_of, put_long, put_short, short
from headrace.matching.scan.machine import (
    byte_at,
    compiled,
    double_bits,
    half_at,
    kernel,
    put_half,
    put_word,
    word_at,
)

# Places in the array of counts. `ASKED`: look-ups; `PASSED`: those that the Bloom filter let pass; `FOUND`: those that
# the table has a key for. `MASK`, `ROOM`, `CANDIDATE_ROOM`, `ROWS` and `WIDTH` are told by the caller.
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
    COUNTS,
) = range(14)

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
ROW, MEMBER, CANDIDATE_ROW, CANDIDATE_ALTERNATIVE, FORM_SEEN, GRAM_SEEN, KEYS = range(7)

_SIGN = np.int64(0x7FFFFFFFFFFFFFFF)


@compiled
def _passes(t, group, hash_, n):  # type: ignore[no-untyped-def]
    add(n, ASKED, 1)
    first, last = long(t, T.BLOOM_AT, group), long(t, T.BLOOM_AT, group + 1)
    if not may_contain(address(t, T.BLOOM), first, last, hash_, short(t, T.BLOOM_BITS, 0)):
        return False
    add(n, PASSED, 1)
    return True


@compiled
def _seed(t, slot, space):  # type: ignore[no-untyped-def]
    return mix(np.uint64(long(t, T.SLOT_SEED, slot)) ^ np.uint64(space))


@compiled
def _key_of_text(t, group, slot, space, text, length, n):  # type: ignore[no-untyped-def]
    hash_ = hash_text(text, length, _seed(t, slot, space))
    if not _passes(t, group, hash_, n):
        return np.int64(-1)
    key = find_text(t, word_at(n + 8 * MASK), slot * T.SPACES + space, hash_, text, length)
    add(n, FOUND, np.int64(key >= 0))
    return key


@compiled
def _key_of_value(t, group, slot, space, value, tag, n):  # type: ignore[no-untyped-def]
    hash_ = hash_word(tagged(value, tag), _seed(t, slot, space))
    if not _passes(t, group, hash_, n):
        return np.int64(-1)
    key = find_value(t, word_at(n + 8 * MASK), slot * T.SPACES + space, hash_, value, tag)
    add(n, FOUND, np.int64(key >= 0))
    return key


@compiled
def _key(t, group, slot, space, kind, number, text, length, n):  # type: ignore[no-untyped-def]
    """Return the key of a value, or -1 where no check asks for it."""
    if kind == STRING:
        return _key_of_text(t, group, slot, space, text, length, n)
    if kind == INT:
        return _key_of_value(t, group, slot, space, double_bits(np.float64(number)), NUMBER_KEY, n)
    if kind == DOUBLE:
        bits = np.int64(0) if number == ~_SIGN else number  # zero has one sign
        return _key_of_value(t, group, slot, space, bits, NUMBER_KEY, n)
    if kind == NULL:
        return _key_of_value(t, group, slot, space, np.int64(NULL_KEY), CONSTANT_KEY, n)
    if kind == FALSE:
        return _key_of_value(t, group, slot, space, np.int64(FALSE_KEY), CONSTANT_KEY, n)
    if kind == TRUE:
        return _key_of_value(t, group, slot, space, np.int64(TRUE_KEY), CONSTANT_KEY, n)
    return np.int64(-1)


@compiled
def _key_of_element(t, c, group, slot, element, n):  # type: ignore[no-untyped-def]
    text = address(c, TEXT) + long(c, ELEMENT_START, element)
    return _key(
        t, group, slot, T.ELEMENT_SPACE, byte(c, ELEMENT_KIND, element), long(c, ELEMENT_NUMBER, element),
        text, short(c, ELEMENT_LENGTH, element), n,
    )  # fmt: skip


@compiled
def _ordered(bits):  # type: ignore[no-untyped-def]
    return bits if bits >= 0 else -(bits & _SIGN)


@compiled
def _constant(t, number):  # type: ignore[no-untyped-def]
    """Return the address of a constant text, and its length."""
    start = long(t, T.TEXT_AT, number)
    return address(t, T.TEXT) + start, long(t, T.TEXT_AT, number + 1) - start


@compiled
def _occurs(t, wanted, text, length):  # type: ignore[no-untyped-def]
    other, size = _constant(t, wanted)
    for place in range(length - size + 1):
        if is_same(text + place, other, size):
            return True
    return False


@compiled
def _is_at(t, wanted, text, length, from_end):  # type: ignore[no-untyped-def]
    other, size = _constant(t, wanted)
    if size > length:
        return False
    return is_same(text + length - size if from_end else text, other, size)


@compiled
def _in_set(t, set_, key):  # type: ignore[no-untyped-def]
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
def _in_interval(t, value, kind, number):  # type: ignore[no-untyped-def]
    if kind == INT:
        return long(t, T.INTERVAL, 4 * value) <= number <= long(t, T.INTERVAL, 4 * value + 1)
    if kind == DOUBLE:
        return long(t, T.INTERVAL, 4 * value + 2) <= _ordered(number) <= long(t, T.INTERVAL, 4 * value + 3)
    return False


@compiled
def _in_span(t, value, text, length):  # type: ignore[no-untyped-def]
    low, high, open_ = long(t, T.SPAN, 3 * value), long(t, T.SPAN, 3 * value + 1), long(t, T.SPAN, 3 * value + 2)
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
def _includes(t, c, group, slot, wanted, first, count, n):  # type: ignore[no-untyped-def]
    for element in range(first, first + count):
        key = _key_of_element(t, c, group, slot, element, n)
        if key >= 0 and key == wanted:
            return True
    return False


@compiled
def _holds_of_text(t, code, value, text, length):  # type: ignore[no-untyped-def]
    if code == BETWEEN:
        return _in_span(t, value, text, length)
    if code in (STARTS, STARTS_NOT):
        return _is_at(t, value, text, length, False) == (code == STARTS)
    if code in (ENDS, ENDS_NOT):
        return _is_at(t, value, text, length, True) == (code == ENDS)
    if code in (CONTAINS, CONTAINS_NOT):
        return _occurs(t, value, text, length) == (code == CONTAINS)
    return False


@compiled
def _holds_of_key(t, code, value, key):  # type: ignore[no-untyped-def]
    if code == EQUAL:
        return key >= 0 and key == value
    if code == UNEQUAL:
        return value < 0 or key != value
    return _in_set(t, value, key) == (code == ONE_OF)


@compiled
def _holds(t, c, o, group, check, row, n):  # type: ignore[no-untyped-def]  # noqa: PLR0911 -- one per kind of check
    local = short(t, T.CHECK_SLOT, check)
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    code = byte(t, T.CHECK_CODE, check)
    value = short(t, T.CHECK_VALUE, check)
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
        slot = short(t, T.GROUP_AT, group) + local
        found = _includes(t, c, group, slot, value, long(c, START, cell), short(c, LENGTH, cell), n)
        return found == (code == INCLUDES)
    if kind != STRING:
        return False
    return _holds_of_text(t, code, value, address(c, TEXT) + long(c, START, cell), short(c, LENGTH, cell))


@compiled
def _visit(t, c, o, group, list_, row, n):  # type: ignore[no-untyped-def]
    """Look at the alternatives of a list; false where there is no room left for what was found."""
    first, last = long(t, T.LIST_AT, list_), long(t, T.LIST_AT, list_ + 1)
    add(n, VISITED, last - first)
    slots, keys = address(t, T.POST_SLOT), address(t, T.POST_KEY)
    wanted = address(o, KEYS)
    for post in range(first, last):
        slot = half_at(slots + 4 * post)
        if slot >= 0 and word_at(wanted + 8 * slot) != half_at(keys + 4 * post):
            continue
        member = short(t, T.POST_MEMBER, post)
        if member >= 0:
            matches = word_at(n + 8 * MATCHES)
            if matches >= word_at(n + 8 * ROOM):
                return False
            put_short(o, ROW, matches, row)
            put_short(o, MEMBER, matches, member)
            put_word(n + 8 * MATCHES, matches + 1)
        elif not _settle(t, c, o, group, short(t, T.POST_ALTERNATIVE, post), row, n):
            return False
    return True


@compiled
def _settle(t, c, o, group, alternative, row, n):  # type: ignore[no-untyped-def]
    """Do the remaining checks of an alternative; false where there is no room left."""
    for check in range(long(t, T.ALTERNATIVE_AT, alternative), long(t, T.ALTERNATIVE_AT, alternative + 1)):
        if not _holds(t, c, o, group, check, row, n):
            return True
    if short(t, T.ALTERNATIVE_REST, alternative) < 0:
        return _emit(t, o, short(t, T.ALTERNATIVE_FORM, alternative), row, n)
    candidates = word_at(n + 8 * CANDIDATES)
    if candidates >= word_at(n + 8 * CANDIDATE_ROOM):
        return False
    put_short(o, CANDIDATE_ROW, candidates, row)
    put_short(o, CANDIDATE_ALTERNATIVE, candidates, alternative)
    put_word(n + 8 * CANDIDATES, candidates + 1)
    return True


@compiled
def _emit(t, o, form, row, n):  # type: ignore[no-untyped-def]
    """Note all members of a form, once per event."""
    mark = short(t, T.FORM_MARK, form)
    if mark >= 0:
        if long(o, FORM_SEEN, mark) == word_at(n + 8 * EPOCH):
            return True
        put_long(o, FORM_SEEN, mark, word_at(n + 8 * EPOCH))
    first, last = long(t, T.FORM_AT, form), long(t, T.FORM_AT, form + 1)
    matches = word_at(n + 8 * MATCHES) - first
    if matches + last > word_at(n + 8 * ROOM):
        return False
    rows, members, found = address(o, ROW), address(o, MEMBER), address(t, T.FORM_MEMBER)
    for each in range(first, last):
        put_half(rows + 4 * (matches + each), row)
        put_half(members + 4 * (matches + each), half_at(found + 4 * each))
    put_word(n + 8 * MATCHES, matches + last)
    return True


@compiled
def _visit_tree(t, c, o, group, tree, leaf, row, n):  # type: ignore[no-untyped-def]
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
def _leaf_of_number(t, tree, value):  # type: ignore[no-untyped-def]
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
def _leaf_of_text(t, tree, text, length):  # type: ignore[no-untyped-def]
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
def _gram(text, size):  # type: ignore[no-untyped-def]
    value = byte_at(text)
    for place in range(1, size):
        value |= byte_at(text + place) << (8 * place)
    return value


@compiled
def _visit_gram(t, c, o, group, key, text, place, length, row, n):  # type: ignore[no-untyped-def]
    """Compare every text that has this gram with the one around it; what is found counts once per event."""
    entry = key - short(t, T.GRAM_FIRST, 0)
    epoch = word_at(n + 8 * EPOCH)
    for each in range(short(t, T.GRAM_AT, entry), short(t, T.GRAM_AT, entry + 1)):
        mark = short(t, T.GRAM_MARK, each)
        at = place - short(t, T.GRAM_OFFSET, each)
        other, size = _constant(t, short(t, T.GRAM_TEXT, each))
        if long(o, GRAM_SEEN, mark) == epoch or at < 0 or at + size > length or not is_same(text + at, other, size):
            continue
        put_long(o, GRAM_SEEN, mark, epoch)
        if not _visit(t, c, o, group, short(t, T.GRAM_LIST, each), row, n):
            return False
    return True


@compiled
def _visit_grams(t, c, o, group, slot, text, length, row, n):  # type: ignore[no-untyped-def]
    for size in range(1, 5):
        if not (byte(t, T.SLOT_GRAMS, slot) >> size) & 1:
            continue
        for place in range(length - size + 1):
            key = _key_of_value(t, group, slot, T.GRAM_SPACE, _gram(text + place, size), size, n)
            if key >= 0 and not _visit_gram(t, c, o, group, key, text, place, length, row, n):
                return False
    return True


@compiled
def _visit_ends(t, c, o, group, slot, space, text, length, row, n):  # type: ignore[no-untyped-def]
    """Look up the beginnings of a text, or its endings, in every length in use."""
    ends = T.SLOT_START_AT if space == T.START_SPACE else T.SLOT_END_AT
    lengths = T.START_LENGTH if space == T.START_SPACE else T.END_LENGTH
    for each in range(short(t, ends, slot), short(t, ends, slot + 1)):
        size = short(t, lengths, each)
        if size > length:
            break
        part = text if space == T.START_SPACE else text + length - size
        key = _key_of_text(t, group, slot, space, part, size, n)
        if key >= 0 and not _visit(t, c, o, group, key, row, n):
            return False
    return True


@compiled
def _visit_text(t, c, o, group, slot, text, length, row, n):  # type: ignore[no-untyped-def]
    """Visit the lists of a string: its beginnings, its endings, what it contains, where it lies."""
    if not _visit_ends(t, c, o, group, slot, T.START_SPACE, text, length, row, n):
        return False
    if not _visit_ends(t, c, o, group, slot, T.END_SPACE, text, length, row, n):
        return False
    if byte(t, T.SLOT_GRAMS, slot) and not _visit_grams(t, c, o, group, slot, text, length, row, n):
        return False
    tree = short(t, T.SLOT_TREE, 3 * slot + 2)
    return tree < 0 or _visit_tree(t, c, o, group, tree, _leaf_of_text(t, tree, text, length), row, n)


@compiled
def _visit_number(t, c, o, group, slot, kind, number, row, n):  # type: ignore[no-untyped-def]
    tree = short(t, T.SLOT_TREE, 3 * slot + (0 if kind == INT else 1))
    if tree < 0:
        return True
    leaf = _leaf_of_number(t, tree, number if kind == INT else _ordered(number))
    return _visit_tree(t, c, o, group, tree, leaf, row, n)


@compiled
def _visit_elements(t, c, o, group, slot, first, count, row, n):  # type: ignore[no-untyped-def]
    for element in range(first, first + count):
        key = _key_of_element(t, c, group, slot, element, n)
        if key >= 0 and not _visit(t, c, o, group, key, row, n):
            return False
    return True


@compiled
def _visit_slot(t, c, o, group, local, row, n):  # type: ignore[no-untyped-def]  # noqa: PLR0911 -- one per kind
    """Visit every list that one field's value leads to."""
    slot = short(t, T.GROUP_AT, group) + local
    cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
    kind = byte(c, KIND, cell)
    if kind < NULL:
        return True
    presence = short(t, T.SLOT_LIST, slot)
    if presence >= 0 and not _visit(t, c, o, group, presence, row, n):
        return False
    key = long(o, KEYS, local)
    if key >= 0 and not _visit(t, c, o, group, key, row, n):
        return False
    if kind == STRING:
        text = address(c, TEXT) + long(c, START, cell)
        return _visit_text(t, c, o, group, slot, text, short(c, LENGTH, cell), row, n)
    if kind in (INT, DOUBLE):
        return _visit_number(t, c, o, group, slot, kind, long(c, NUMBER, cell), row, n)
    if kind in (LIST, MAP) and byte(t, T.SLOT_ELEMENTS, slot):
        return _visit_elements(t, c, o, group, slot, long(c, START, cell), short(c, LENGTH, cell), row, n)
    return True


@compiled
def _find_keys(t, c, o, group, slots, row, n):  # type: ignore[no-untyped-def]
    """Note the key of every slot's value: checks of equality compare these."""
    first = short(t, T.GROUP_AT, group)
    for local in range(slots):
        cell = row * word_at(n + 8 * WIDTH) + long(c, COLUMNS, local)
        kind = byte(c, KIND, cell)
        key = np.int64(-1)
        if kind >= NULL and byte(t, T.SLOT_HAS_KEYS, first + local):
            text = address(c, TEXT) + long(c, START, cell)
            number, length = long(c, NUMBER, cell), short(c, LENGTH, cell)
            key = _key(t, group, first + local, T.EQUAL_SPACE, kind, number, text, length, n)
        put_long(o, KEYS, local, key)


@compiled
def _match_row(t, c, o, group, slots, row, n):  # type: ignore[no-untyped-def]
    _find_keys(t, c, o, group, slots, row, n)
    if not _visit(t, c, o, group, short(t, T.GROUP_LIST, group), row, n):
        return False
    for local in range(slots):
        if not _visit_slot(t, c, o, group, local, row, n):
            return False
    for each in range(long(c, PATTERN_AT, row), long(c, PATTERN_AT, row + 1)):
        if not _visit(t, c, o, group, short(c, PATTERN_LIST, each), row, n):
            return False
    return True


@kernel
def match_rows(t, c, o, group, n):  # type: ignore[no-untyped-def]
    """Match rows from `NEXT_ROW` on, and stop before the first for which there is no room."""
    slots = short(t, T.GROUP_AT, group + 1) - short(t, T.GROUP_AT, group)
    row = word_at(n + 8 * NEXT_ROW)
    while row < word_at(n + 8 * ROWS):
        matches, candidates = word_at(n + 8 * MATCHES), word_at(n + 8 * CANDIDATES)
        add(n, EPOCH, 1)
        if not _match_row(t, c, o, group, slots, row, n):
            put_word(n + 8 * MATCHES, matches)
            put_word(n + 8 * CANDIDATES, candidates)
            break
        row += 1
    put_word(n + 8 * NEXT_ROW, row)
