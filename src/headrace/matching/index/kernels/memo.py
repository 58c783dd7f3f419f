"""What a text was found to contain, kept for the next time: a column with few values is searched once for each of them.

The memo is a table of entries by the hash of a text. A text is kept when it is met for the second time, with the posts
that it leads to behind it, and compared whenever it is met again. When the room for what is kept is full, all is
forgotten.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.index.kernels.hashes import hash_text
from headrace.matching.index.kernels.records import (
    CellPointers,
    Counts,
    Entry,
    Kept,
    Post,
    RoomPointers,
    TablePointers,
)
from headrace.matching.index.kernels.texts import is_same
from headrace.matching.index.kernels.visits import posts_of, visit_posts
from headrace.matching.index.tables import GRAM_SPACE, SPACES
from headrace.matching.machine import (
    Address,
    address,
    byte_at,
    compiled,
    half_at,
    inlined,
    many,
    put_byte,
    put_half,
    signed,
)

if TYPE_CHECKING:
    import numpy.typing as npt

_ENTRIES = 256
_KEPT_BYTES = 1 << 20
_LONGEST = 4096
_POST = Post.dtype.itemsize
_HEADER = Kept.dtype.itemsize
_MET_ONCE, _MET_TWICE = 0, 1  # instead of a place, which lies behind the header
_TOO_MUCH = -1
_posts_at = many(Post)


def new_memo() -> list[npt.NDArray[Any]]:
    """Make an empty table, and room for what is kept."""
    kept = np.zeros(_KEPT_BYTES // _HEADER, Kept.dtype)
    kept[0] = _HEADER, _KEPT_BYTES
    return [np.zeros(_ENTRIES, Entry.dtype), kept]


@inlined
def entry_of(t: TablePointers, o: RoomPointers, slot: int, text: Address, length: int) -> Entry:
    """Return the entry of a text; one at the address 0: it is too long to be kept."""
    if length > _LONGEST:
        return Entry(0)
    hash_ = signed(hash_text(text, length, np.uint64(t.seed[slot * SPACES + GRAM_SPACE])))
    entry = o.memo[hash_ & (_ENTRIES - 1)]
    if entry.hash != hash_ or entry.slot != slot:
        entry.hash = hash_
        entry.slot = slot
        entry.place = _MET_ONCE
    elif entry.place == _MET_ONCE:
        entry.place = _MET_TWICE
    return entry


@inlined
def is_kept(o: RoomPointers, entry: Entry, text: Address, length: int) -> bool:
    """Say whether the entry tells what this text contains."""
    return (
        address(entry) != 0
        and entry.place >= _HEADER
        and entry.length == length
        and is_same(o.kept + entry.place, text, length)
    )


@inlined
def visit_kept(
    t: TablePointers, c: CellPointers, o: RoomPointers, group: int, entry: Entry, row: int, n: Counts
) -> bool:
    """Visit the posts that were kept."""
    posts = _posts_at(o.kept + entry.place + entry.length)
    return visit_posts(t, c, o, group, posts, entry.posts, row, n)


@compiled
def begin_keeping(o: RoomPointers, entry: Entry, text: Address, length: int, n: Counts) -> None:
    """Put a text aside that was met for the second time; what is visited from now on goes behind it."""
    if address(entry) == 0 or entry.place != _MET_TWICE:
        return
    kept = Kept(o.kept)
    if kept.used + length > kept.size:
        _forget(o)
        return
    to = o.kept + kept.used
    for offset in range(length):
        put_byte(to + offset, byte_at(text + offset))
    n.keeping = to + length


@compiled
def keep(t: TablePointers, o: RoomPointers, list_: int, n: Counts) -> None:
    """Copy the posts of a list that is visited, if there is room."""
    to = n.keeping
    if to <= 0:
        return
    posts, count = posts_of(t, list_)
    if to + _POST * count > o.kept + Kept(o.kept).size:
        n.keeping = _TOO_MUCH
        return
    for offset in range(0, _POST * count, 4):
        put_half(to + offset, half_at(address(posts) + offset))
    n.keeping = to + _POST * count


@compiled
def end_keeping(o: RoomPointers, entry: Entry, length: int, is_whole: bool, n: Counts) -> None:
    """Enter what was kept, unless it isn't the whole of it."""
    kept, to = Kept(o.kept), n.keeping
    n.keeping = 0
    if to == _TOO_MUCH:
        _forget(o)
    elif to > 0 and is_whole:
        entry.place = kept.used
        entry.length = length
        entry.posts = (to - o.kept - kept.used - length) // _POST
        kept.used = to - o.kept


@compiled
def _forget(o: RoomPointers) -> None:
    for each in range(_ENTRIES):
        entry = o.memo[each]
        entry.hash = entry.slot = entry.place = entry.length = entry.posts = 0
    Kept(o.kept).used = _HEADER
