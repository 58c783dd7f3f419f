"""What a text was found to contain, kept for the next time: a column with few values is searched once for each of them.

The memo is a table of entries: the hash of a text, its slot, where the text was put, its length, and how many posts
follow it there. A text is kept when it is met for the second time, and compared whenever it is met again. What is kept
lies behind two words, the bytes in use and the bytes that there are; when these are full, all is forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index import tables as T  # noqa: N812 -- a name for each table
from headrace.matching.index.kernels.arguments import KEEPING, KEPT, MEMO
from headrace.matching.index.kernels.hashes import hash_text
from headrace.matching.index.kernels.memory import address, is_same, long
from headrace.matching.index.kernels.visits import POST_BYTES, posts_of, visit_posts
from headrace.matching.machine import (
    byte_at,
    compiled,
    half_at,
    inlined,
    put_byte,
    put_half,
    put_word,
    word_at,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_ENTRIES = 256
_ENTRY_BYTES = 40
_KEPT_BYTES = 1 << 20
_LONGEST = 4096
_HEADER = 16
_MET_ONCE, _MET_TWICE = 0, 1  # instead of a place, which lies behind the header
_TOO_MUCH = np.int64(-1)


def new_memo() -> list[npt.NDArray[np.int64]]:
    """Make an empty table, and room for what is kept."""
    kept = np.zeros(_KEPT_BYTES // 8, np.int64)
    kept[:2] = _HEADER, _KEPT_BYTES
    return [np.zeros(_ENTRIES * _ENTRY_BYTES // 8, np.int64), kept]


@inlined
def entry_of(t: Any, o: Any, slot: Any, text: Any, length: Any) -> Any:
    """Return the entry of a text; 0: it is too long to be kept."""
    if length > _LONGEST:
        return np.int64(0)
    hash_ = np.int64(hash_text(text, length, np.uint64(long(t, T.SEED, slot * T.SPACES + T.GRAM_SPACE))))
    entry = address(o, MEMO) + _ENTRY_BYTES * (hash_ & (_ENTRIES - 1))
    if word_at(entry) != hash_ or word_at(entry + 8) != slot:
        put_word(entry, hash_)
        put_word(entry + 8, slot)
        put_word(entry + 16, np.int64(_MET_ONCE))
    elif word_at(entry + 16) == _MET_ONCE:
        put_word(entry + 16, np.int64(_MET_TWICE))
    return entry


@inlined
def is_kept(o: Any, entry: Any, text: Any, length: Any) -> Any:
    """Say whether the entry tells what this text contains."""
    return (
        entry != 0
        and word_at(entry + 16) >= _HEADER
        and word_at(entry + 24) == length
        and is_same(address(o, KEPT) + word_at(entry + 16), text, length)
    )


@inlined
def visit_kept(t: Any, c: Any, o: Any, group: Any, entry: Any, row: Any, n: Any) -> Any:
    """Visit the posts that were kept."""
    posts = address(o, KEPT) + word_at(entry + 16) + word_at(entry + 24)
    return visit_posts(t, c, o, group, posts, word_at(entry + 32), row, n)


@compiled
def begin_keeping(o: Any, entry: Any, text: Any, length: Any, n: Any) -> Any:
    """Put a text aside that was met for the second time; what is visited from now on goes behind it."""
    if entry == 0 or word_at(entry + 16) != _MET_TWICE:
        return
    kept = address(o, KEPT)
    to = kept + word_at(kept)
    if to + length > kept + word_at(kept + 8):
        _forget(o)
        return
    for offset in range(length):
        put_byte(to + offset, byte_at(text + offset))
    put_word(n + 8 * KEEPING, to + length)


@compiled
def keep(t: Any, o: Any, list_: Any, n: Any) -> Any:
    """Copy the posts of a list that is visited, if there is room."""
    kept, to = address(o, KEPT), word_at(n + 8 * KEEPING)
    if to <= 0:
        return
    post, count = posts_of(t, list_)
    if to + POST_BYTES * count > kept + word_at(kept + 8):
        put_word(n + 8 * KEEPING, _TOO_MUCH)
        return
    for offset in range(0, POST_BYTES * count, 4):
        put_half(to + offset, half_at(post + offset))
    put_word(n + 8 * KEEPING, to + POST_BYTES * count)


@compiled
def end_keeping(o: Any, entry: Any, length: Any, is_whole: Any, n: Any) -> Any:
    """Enter what was kept, unless it isn't the whole of it."""
    kept, to = address(o, KEPT), word_at(n + 8 * KEEPING)
    put_word(n + 8 * KEEPING, np.int64(0))
    if to == _TOO_MUCH:
        _forget(o)
    elif to > 0 and is_whole:
        at = word_at(kept)
        put_word(entry + 16, at)
        put_word(entry + 24, length)
        put_word(entry + 32, (to - kept - at - length) // POST_BYTES)
        put_word(kept, to - kept)


@compiled
def _forget(o: Any) -> Any:
    for word in range(_ENTRIES * _ENTRY_BYTES // 8):
        put_word(address(o, MEMO) + 8 * word, np.int64(0))
    put_word(address(o, KEPT), np.int64(_HEADER))
