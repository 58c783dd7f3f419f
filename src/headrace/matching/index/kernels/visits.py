"""What a walk does with a list: the alternatives in it are looked at, and whom they are of is noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.matching.index.kernels.checks import holds
from headrace.matching.index.kernels.records import (
    Post,
)
from headrace.matching.machine import Long, Many, address, compiled, inlined, prefetch

if TYPE_CHECKING:
    from headrace.matching.index.kernels.records import (
        Alternative,
        CellPointers,
        Counts,
        RoomPointers,
        TablePointers,
    )

_POST = Post.dtype.itemsize
_AHEAD = 4 * _POST  # between the post that is looked at and the one whose alternative is asked for


@inlined
def visit(
    t: TablePointers, c: CellPointers, o: RoomPointers, group: int, list_: int, row: int, n: Counts
) -> bool:
    """Look at the alternatives of a list; false where there is no room left for what was found."""
    posts, count = posts_of(t, list_)
    return visit_posts(t, c, o, group, posts, count, row, n)


@inlined
def posts_of(t: TablePointers, list_: int) -> tuple[Many[Post], int]:
    """Return the posts of a list, and how many these are."""
    first = t.list_at[list_]
    return t.posts + first, t.list_at[list_ + 1] - first


@inlined
def visit_key(
    t: TablePointers, c: CellPointers, o: RoomPointers, group: int, number: int, row: int, n: Counts
) -> bool:
    """Look at the alternatives of a key's list."""
    key = t.keys[number]
    return visit_posts(t, c, o, group, t.posts + key.first, key.last - key.first, row, n)


@compiled
def visit_posts(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    posts: Many[Post],
    count: int,
    row: int,
    n: Counts,
) -> bool:
    """Look at posts. Who stands there by name is written down at once and counts if the post's key is the row's."""
    n.visited += count
    matches = n.matches
    if matches + count > n.room:
        return False
    keys, pairs = o.keys, o.pairs
    at = address(posts)
    end = at + _POST * count
    while at < end:
        post = Post(at)
        fits = keys[post.column] == post.key
        who = post.who
        if who >= 0:
            pairs[matches] = row << 32 | who
            matches += int(fits)
        else:
            if at + _AHEAD < end:
                _ask_for(t, keys, Post(at + _AHEAD))
            if fits:
                n.matches = matches
                if not _settle(t, c, o, group, ~who, (end - at) // _POST - 1, row, n):
                    return False
                matches = n.matches
        at += _POST
    n.matches = matches
    return True


@inlined
def _ask_for(t: TablePointers, keys: Many[Long], post: Post) -> None:
    """Ask for the memory of a post's alternative, if it will be needed."""
    if post.who < 0 and keys[post.column] == post.key:
        prefetch(address(t.alternatives[~post.who]))


@inlined
def _settle(
    t: TablePointers,
    c: CellPointers,
    o: RoomPointers,
    group: int,
    number: int,
    more: int,
    row: int,
    n: Counts,
) -> bool:
    """Do the remaining checks of an alternative; false where there is no room left, for it and so many posts."""
    alternative, checks = t.alternatives[number], t.checks
    for check in range(alternative.first_check, alternative.last_check):
        if not holds(t, c, o, group, checks[check], row, n):
            return True
    if alternative.rest < 0:
        return _emit(t, o, alternative, more, row, n)
    candidates = n.candidates
    if candidates >= n.candidate_room:
        return False
    o.candidate_pairs[candidates] = row << 32 | number
    n.candidates = candidates + 1
    return True


@inlined
def _emit(
    t: TablePointers, o: RoomPointers, alternative: Alternative, more: int, row: int, n: Counts
) -> bool:
    """Note all members of a form, once per event."""
    mark, first, last = alternative.mark, alternative.first_member, alternative.last_member
    if mark >= 0:
        if o.form_seen[mark] == n.epoch:
            return True
        o.form_seen[mark] = n.epoch
    matches = n.matches - first
    if matches + last + more > n.room:
        return False
    pairs, found = o.pairs, t.form_member
    for each in range(first, last):
        pairs[matches + each] = row << 32 | found[each]
    n.matches = matches + last
    return True
