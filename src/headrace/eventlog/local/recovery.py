"""Recovery of a log before it is written: find the end of what is whole, truncate a torn tail, refuse damage.

A commit is synced before the next one is written. So a crash can tear only the last frame, which was never
acknowledged and may be truncated. Anything broken before it was acknowledged and is never truncated. Where damage is
accepted, everything stays as it is, and a new segment begins behind every position that was ever given to an event.
The segments whose damage was accepted are recorded, so that the next start accepts it too.
"""

from __future__ import annotations

import logging
import mmap
import os
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headrace.errors import LogDamaged
from headrace.eventlog.local.files import read_checked, sync_folder, write_checked
from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    SegmentHead,
    body_is_whole,
    find_frame,
    unpack_frame,
    unpack_segment_head,
)
from headrace.eventlog.local.segments import Segment, list_segments

if TYPE_CHECKING:
    from pathlib import Path


_log = logging.getLogger(__name__)
_LEAST_BYTES = 64
"""The least that an event takes in a segment: its fixed columns and the offsets of its texts are more."""
_ACCEPTED = "ACCEPTED"
"""The first positions of segments whose damage, or whose gap to the next, an operator has accepted."""


class SegmentTail(NamedTuple):
    """The last segment, and where appending to it goes on."""

    segment: Segment
    salt: int
    size: int
    end: int


def recover(folder: Path, durable_end: int | None, *, accept_damage: bool = False) -> SegmentTail | int:
    """Check every segment and truncate a torn tail. Return where to go on: a tail, or the start of a new segment.

    `durable_end` is the end that the last writer reported as durable, if known: nothing before it is truncated.
    Of sealed segments only the headers are checked; their checksums are whenever they are read.
    """
    try:
        return _find_tail(folder, durable_end) or 0
    except LogDamaged as damage:
        if not accept_damage:
            raise
        found = _behind_damage(folder, durable_end or 0)
        end = found if isinstance(found, int) else found.end
        _log.error("%s The log continues at position %d without them.", damage, end)
        return found


def accept_gaps(folder: Path) -> None:
    """Record which segments are damaged, or end before the next one begins: an operator has accepted that."""
    accepted = _accepted(folder)
    segments = list_segments(folder)
    for segment, following in pairwise(segments):
        try:
            end = _check(segment, is_last=False, durable_end=None).end
        except LogDamaged:
            end = -1
        if end != following.first:
            accepted.add(segment.first)
    kept = accepted & {segment.first for segment in segments}
    write_checked(folder / _ACCEPTED, msgspec.json.encode(sorted(kept)))


def _accepted(folder: Path) -> set[int]:
    return msgspec.json.decode(read_checked(folder / _ACCEPTED) or b"[]", type=set[int])


def end_of_log(folder: Path) -> int:
    """Return where a log ends, as far as its files tell. For processes that don't write it."""
    try:
        segments = list_segments(folder)
        if not segments:
            return 0
        with segments[-1].path.open("rb") as file:
            head = unpack_segment_head(file.read(SEGMENT_HEADER))
            if isinstance(head, str):
                return segments[-1].first
            with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
                return _follow(mapped, head, check_bodies=False)[0]
    except FileNotFoundError:
        return 0


def _behind_damage(folder: Path, durable_end: int) -> SegmentTail | int:
    """Continue in the last segment, if it is whole, or else in a new one behind every position that was ever given."""
    segments = list_segments(folder)
    if not segments:
        return durable_end
    try:
        tail = _check(segments[-1], is_last=True, durable_end=durable_end)
    except LogDamaged:
        return max(durable_end, _furthest_end(segments[-1]))
    return tail if tail.end >= durable_end else durable_end


def _furthest_end(segment: Segment) -> int:
    """Return a position behind every one that a damaged segment may have held."""
    with segment.path.open("rb") as file:
        head = unpack_segment_head(file.read(SEGMENT_HEADER))
        file.seek(0)
        content = file.read()
    end, offset = segment.first, 0
    if not isinstance(head, str):
        while (found := find_frame(content, offset, head.salt, end)) is not None:
            end, offset = found[1].first + found[1].rows, found[0] + FRAME_HEADER + found[1].length
    return end + 1 + (len(content) - offset) // _LEAST_BYTES


def _find_tail(folder: Path, durable_end: int | None) -> SegmentTail | None:
    segments, accepted = list_segments(folder), _accepted(folder)
    tail = None
    for segment in segments:
        if tail is not None and segment.first != tail.end and tail.segment.first not in accepted:
            problem = f"it ends at position {tail.end}, and the next segment begins at {segment.first}"
            raise LogDamaged(tail.segment.path, tail.size, problem)
        is_last = segment is segments[-1]
        if segment.first in accepted and not is_last:
            tail = SegmentTail(segment, 0, 0, segment.first)
            continue
        tail = _check(segment, is_last=is_last, durable_end=durable_end)
    if durable_end is not None and durable_end > (tail.end if tail else 0):
        where, size = (tail.segment.path, tail.size) if tail else (folder, 0)
        raise LogDamaged(
            where, size, f"the log ends before position {durable_end}, up to which events were accepted"
        )
    return tail


def _check(segment: Segment, *, is_last: bool, durable_end: int | None) -> SegmentTail:
    with segment.path.open("rb+") as file:
        head = unpack_segment_head(file.read(SEGMENT_HEADER))
        if isinstance(head, str):
            raise LogDamaged(segment.path, 0, head)
        if head.first != segment.first:
            raise LogDamaged(segment.path, 0, f"its header says that it begins at position {head.first}")
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
            end, offset = _follow(mapped, head, check_bodies=is_last)
            torn = offset < len(mapped)
            if torn:
                problem = _damage(mapped, head, offset, end, durable_end, is_last=is_last)
                if problem:
                    raise LogDamaged(segment.path, offset, f"there is no whole frame, {problem}")
        if torn:
            _warn_of_truncation(segment.path, offset, end, os.fstat(file.fileno()).st_size - offset)
            file.truncate(offset)
        if is_last:
            # A killed writer may have left whole frames that aren't synced: they count from here on.
            os.fsync(file.fileno())
            sync_folder(segment.path.parent)
    return SegmentTail(segment, head.salt, offset, end)


def _warn_of_truncation(path: Path, offset: int, end: int, size: int) -> None:
    _log.warning(
        "%s is truncated at byte %d: a crash tore the commit of the last %d bytes, which was never acknowledged. "
        "The log continues at position %d.",
        path, offset, size, end,
    )  # fmt: skip


def _follow(mapped: mmap.mmap, head: SegmentHead, *, check_bodies: bool) -> tuple[int, int]:
    """Return the position and the offset behind the last whole frame."""
    position, offset = head.first, SEGMENT_HEADER
    while (frame := unpack_frame(mapped[offset : offset + FRAME_HEADER], head.salt)) is not None:
        body_end = offset + FRAME_HEADER + frame.length
        if frame.first != position or body_end > len(mapped):
            break
        if check_bodies and not body_is_whole(mapped[offset + FRAME_HEADER : body_end], frame):
            break
        position, offset = position + frame.rows, body_end
    return position, offset


def _damage(
    mapped: mmap.mmap, head: SegmentHead, offset: int, end: int, durable_end: int | None, *, is_last: bool
) -> str | None:
    """Return why the broken frame can't be a torn last one, or None if it can."""
    if not is_last:
        return "and this isn't the last segment"
    if durable_end is not None and end < durable_end:
        return f"but events up to position {durable_end} were accepted"
    following = find_frame(mapped, offset, head.salt, end)
    return None if following is None else f"but a whole one follows at byte {following[0]}"
