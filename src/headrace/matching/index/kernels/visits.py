"""What a walk does with a list: the alternatives in it are looked at, and whom they are of is noted."""

from __future__ import annotations

from typing import Any

import numpy as np

from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.kernels.arguments import (
    CANDIDATE_PAIRS,
    CANDIDATE_ROOM,
    CANDIDATES,
    EPOCH,
    FORM_SEEN,
    KEYS,
    MATCHES,
    PAIRS,
    ROOM,
    VISITED,
)
from headrace.matching.index.kernels.checks import holds
from headrace.matching.index.kernels.memory import add, address, long, put_long
from headrace.matching.machine import compiled, half_at, inlined, prefetch, put_word, word_at

POST_BYTES = 12
_AHEAD = 4 * POST_BYTES  # between the post that is looked at and the one whose alternative is asked for
_LOWER = np.int64(0xFFFFFFFF)


@inlined
def visit(t: Any, c: Any, o: Any, group: Any, list_: Any, row: Any, n: Any) -> Any:
    """Look at the alternatives of a list; false where there is no room left for what was found."""
    post, count = posts_of(t, list_)
    return visit_posts(t, c, o, group, post, count, row, n)


@inlined
def posts_of(t: Any, list_: Any) -> Any:
    """Return where the posts of a list lie, and how many these are."""
    first = long(t, T.LIST_AT, list_)
    return address(t, T.POSTS) + POST_BYTES * first, long(t, T.LIST_AT, list_ + 1) - first


@inlined
def visit_key(t: Any, c: Any, o: Any, group: Any, key: Any, row: Any, n: Any) -> Any:
    """Look at the alternatives of a key's list."""
    ends = long(t, T.KEYS, 4 * key + 1)
    first = ends & _LOWER
    return visit_posts(t, c, o, group, address(t, T.POSTS) + POST_BYTES * first, (ends >> 32) - first, row, n)


@compiled
def visit_posts(t: Any, c: Any, o: Any, group: Any, post: Any, count: Any, row: Any, n: Any) -> Any:
    """Look at posts. Who stands there by name is written down at once and counts if the post's key is the row's."""
    add(n, VISITED, count)
    matches = word_at(n + 8 * MATCHES)
    if matches + count > word_at(n + 8 * ROOM):
        return False
    keys, pairs = address(o, KEYS), address(o, PAIRS)
    end = post + POST_BYTES * count
    while post < end:
        fits = word_at(keys + 8 * half_at(post)) == half_at(post + 4)
        who = half_at(post + 8)
        if who >= 0:
            put_word(pairs + 8 * matches, row << 32 | who)
            matches += int(fits)
        else:
            _ask_for(t, keys, post + _AHEAD, end)
            if fits:
                put_word(n + 8 * MATCHES, matches)
                if not _settle(t, c, o, group, ~who, (end - post) // POST_BYTES - 1, row, n):
                    return False
                matches = word_at(n + 8 * MATCHES)
        post += POST_BYTES
    put_word(n + 8 * MATCHES, matches)
    return True


@inlined
def _ask_for(t: Any, keys: Any, post: Any, end: Any) -> Any:
    """Ask for the memory of a post's alternative, if it will be needed."""
    if post < end and half_at(post + 8) < 0 and word_at(keys + 8 * half_at(post)) == half_at(post + 4):
        prefetch(address(t, T.ALTERNATIVES) + 32 * ~half_at(post + 8))


@inlined
def _settle(t: Any, c: Any, o: Any, group: Any, alternative: Any, more: Any, row: Any, n: Any) -> Any:
    """Do the remaining checks of an alternative; false where there is no room left, for it and so many posts."""
    at = address(t, T.ALTERNATIVES) + 32 * alternative
    check, last = address(t, T.CHECKS) + 16 * half_at(at), address(t, T.CHECKS) + 16 * half_at(at + 4)
    while check < last:
        if not holds(t, c, o, group, check, row, n):
            return True
        check += 16
    if half_at(at + 8) < 0:
        return _emit(t, o, half_at(at + 12), half_at(at + 16), half_at(at + 20), more, row, n)
    candidates = word_at(n + 8 * CANDIDATES)
    if candidates >= word_at(n + 8 * CANDIDATE_ROOM):
        return False
    put_word(address(o, CANDIDATE_PAIRS) + 8 * candidates, row << 32 | alternative)
    put_word(n + 8 * CANDIDATES, candidates + 1)
    return True


@inlined
def _emit(t: Any, o: Any, mark: Any, first: Any, last: Any, more: Any, row: Any, n: Any) -> Any:
    """Note all members of a form, once per event."""
    if mark >= 0:
        if long(o, FORM_SEEN, mark) == word_at(n + 8 * EPOCH):
            return True
        put_long(o, FORM_SEEN, mark, word_at(n + 8 * EPOCH))
    matches = word_at(n + 8 * MATCHES) - first
    if matches + last + more > word_at(n + 8 * ROOM):
        return False
    pairs, found = address(o, PAIRS), address(t, T.FORM_MEMBER)
    for each in range(first, last):
        put_word(pairs + 8 * (matches + each), row << 32 | half_at(found + 4 * each))
    put_word(n + 8 * MATCHES, matches + last)
    return True
