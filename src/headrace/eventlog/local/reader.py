"""Reading the embedded log from any process: segments are mapped, and batches are views of the mapped bytes.

A frame that can't be read is a hole of as many positions as it held, and the frames behind it are found again. The
caller decides whether a hole is an error or is skipped.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from headrace.errors import LogError, LogExpired, LogUnavailable
from headrace.eventlog.damage import Damage, raise_damage
from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    Frame,
    body_is_whole,
    find_frame,
    unpack_frame,
    unpack_segment_head,
)
from headrace.eventlog.local.segments import END_WATERMARK, Segment, list_segments
from headrace.eventlog.local.watermark import Watermark
from headrace.events.batch import SCHEMA
from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ANY_SIZE = 1 << 62
# Reading on needs the current segment and the one before; older ones would only fill the memory.
_MOST_MAPPED = 4


@contextmanager
def _log_in(folder: Path) -> Iterator[None]:
    """Explain a missing file of the log."""
    try:
        yield
    except FileNotFoundError:
        raise LogUnavailable(
            f"there is no log in {folder}: put it back, or start the role that makes one (http or ingress)"
        ) from None


class SegmentReader:
    """Any number of readers in any process; one instance is for one thread.

    Be careful: never look behind the writer's watermark. What is there may not be durable yet, and a failed append
    truncates it: reading a mapped page behind the end of its file is a SIGBUS.
    """

    least_poll_seconds = 0.0
    least_gap = 50

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with _log_in(folder):
            self._watermark = Watermark(folder / END_WATERMARK)
        self._segments: list[Segment] = []
        self._listed_to = 0
        self._mapped: dict[int, _MappedSegment] = {}

    def start(self) -> LogPosition:
        """Return the log position before which nothing is kept any more."""
        with _log_in(self._folder):
            segments = list_segments(self._folder)
        return LogPosition.at(segments[0].first) if segments else LogPosition()

    def end(self) -> LogPosition:
        """Return the log position behind the last event."""
        return LogPosition.at(self._end())

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = raise_damage
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) in order, one slice per commit, without copying them.

        Positions that can no longer be read are reported to `on_damage`, which may raise, and are skipped.
        """
        self._list_up_to(end)
        try:
            while start < end:
                segment, segment_end = self._segment_of(start)
                stop = min(end, segment_end)
                for found in segment.read(start, stop):
                    if isinstance(found, Damage):
                        on_damage(found)
                    else:
                        yield found
                start = stop
        except FileNotFoundError:
            raise self._gone(start) from None

    def reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return the end of a range that begins at `start` and holds at most `most_bytes`: `end` at the latest.

        It holds at least one commit, since a commit isn't divided.
        """
        self._list_up_to(end)
        try:
            left = most_bytes
            while start < end:
                segment, segment_end = self._segment_of(start)
                stop = min(end, segment_end)
                reached, taken = segment.reach(start, stop, left, is_first=left == most_bytes)
                if reached < stop:
                    return reached
                left, start = left - taken, stop
        except FileNotFoundError:
            raise self._gone(start) from None
        return end

    def size(self, start: int, end: int) -> int:
        """Return roughly how many bytes the log takes for positions [start, end)."""
        self._list_up_to(end)
        total = 0
        while start < end:
            segment, segment_end = self._segment_of(start)
            stop = min(end, segment_end)
            total += segment.reach(start, stop, _ANY_SIZE, is_first=True)[1]
            start = stop
        return total

    def _list_up_to(self, end: int) -> None:
        if end > self._end():
            raise LogError(f"positions up to {end} were requested, but the log ends at {self._end()}")
        if end > self._listed_to:
            self._list()

    def _gone(self, position: int) -> LogExpired:
        self._list()
        return LogExpired(f"position {position}", f"the log begins at {self.start()}")

    def _end(self) -> int:
        return self._watermark.get() or 0

    def _list(self) -> None:
        """List the segments again. The end is read first, so that they hold every position before it."""
        end = self._end()
        with _log_in(self._folder):
            self._segments = list_segments(self._folder)
        self._listed_to = end
        kept = {segment.first for segment in self._segments}
        self._mapped = {first: mapped for first, mapped in self._mapped.items() if first in kept}

    def _segment_of(self, position: int) -> tuple[_MappedSegment, int]:
        """Return the segment that holds the position, and the position where the segment ends."""
        index = bisect_right(self._segments, position, key=lambda segment: segment.first) - 1
        if index < 0:
            raise FileNotFoundError
        following = self._segments[index + 1 : index + 2]
        return self._map(self._segments[index]), following[0].first if following else self._listed_to

    def _map(self, segment: Segment) -> _MappedSegment:
        """Map the segment, and unmap the least recently used one; batches keep what they refer to."""
        mapped = self._mapped.pop(segment.first, None) or _MappedSegment(segment)
        self._mapped[segment.first] = mapped
        while len(self._mapped) > _MOST_MAPPED:
            del self._mapped[next(iter(self._mapped))]
        return mapped


class _LocatedFrame(NamedTuple):
    """A frame and the offset of its body, or a hole and its problem."""

    offset: int
    frame: Frame
    problem: str | None = None


class _MappedSegment:
    """A mapped segment and the offsets of its frames, found as far as they were asked for."""

    def __init__(self, segment: Segment) -> None:
        self._path = segment.path
        self._firsts: list[int] = []
        self._frames: list[_LocatedFrame] = []
        self._map = pa.memory_map(str(segment.path))
        head = unpack_segment_head(self._map.read(SEGMENT_HEADER))
        if not isinstance(head, str) and head.first != segment.first:
            head = f"its header says that it begins at position {head.first}"
        self._unreadable = head if isinstance(head, str) else None
        self._salt = 0 if isinstance(head, str) else head.salt
        self._followed, self._end = 0 if self._unreadable else SEGMENT_HEADER, segment.first

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch | Damage]:
        """Yield the events of positions [start, end), which are durable and in this segment."""
        while start < end:
            located = self._frame_at(start, end)
            skip, stop = start - located.frame.first, min(end - located.frame.first, located.frame.rows)
            batch = self._batch(located) if located.problem is None else located.problem
            start, begun = located.frame.first + stop, start
            if isinstance(batch, str):
                yield Damage(begun, start, self._path, located.offset, batch)
            else:
                yield batch.slice(skip, stop - skip)

    def reach(self, start: int, end: int, most_bytes: int, *, is_first: bool) -> tuple[int, int]:
        """Return the end of a range of at most `most_bytes`, and its size; at least one frame if `is_first`."""
        self._frame_at(end - 1, end)
        index = begin = bisect_right(self._firsts, start) - 1
        last = bisect_right(self._firsts, end - 1) - 1
        beginning = self._frames[begin].offset
        while index < last and self._frames[index + 1].offset - beginning <= most_bytes:
            index += 1
        located = self._frames[index]
        taken = located.offset + located.frame.length - beginning
        if taken > most_bytes and not (is_first and index == begin):
            return max(located.frame.first, start), located.offset - beginning
        return min(located.frame.first + located.frame.rows, end), taken

    def _frame_at(self, position: int, limit: int) -> _LocatedFrame:
        """Follow the frames until one holds the position. Be careful: it has to be a durable position."""
        while self._end <= position:
            located = self._next_frame()
            if located is None:  # the file has grown since it was mapped
                self._map = pa.memory_map(str(self._path))
                located = self._next_frame() or self._hole(limit)
            self._firsts.append(located.frame.first)
            self._frames.append(located)
            self._end = located.frame.first + located.frame.rows
        return self._frames[bisect_right(self._firsts, position) - 1]

    def _next_frame(self) -> _LocatedFrame | None:
        """Return the next frame, if its header is valid and all of it is mapped."""
        room = self._map.size() - self._followed - FRAME_HEADER
        if room < 0 or self._unreadable is not None:
            return None
        self._map.seek(self._followed)
        frame = unpack_frame(self._map.read(FRAME_HEADER), self._salt)
        if frame is None or frame.first != self._end or frame.length > room:
            return None
        located = _LocatedFrame(self._followed + FRAME_HEADER, frame)
        self._followed = located.offset + frame.length
        return located

    def _hole(self, limit: int) -> _LocatedFrame:
        """Return the hole up to the next whole frame, or up to `limit` if there is none."""
        problem = self._unreadable or f"the frame with position {self._end} can't be read"
        at, following = self._followed, limit
        if self._unreadable is None:
            self._map.seek(0)
            found = find_frame(memoryview(self._map.read_buffer()), at, self._salt, self._end)
            if found is not None and found[1].first < limit:
                self._followed, following = found[0], found[1].first
        return _LocatedFrame(at, Frame(0, self._end, following - self._end, 0), problem)

    def _batch(self, located: _LocatedFrame) -> pa.RecordBatch | str:
        if located.offset + located.frame.length > self._map.size():
            return "the file is shorter than it was"  # another one has its name
        self._map.seek(located.offset)
        body = self._map.read_buffer(located.frame.length)
        if not body_is_whole(memoryview(body), located.frame):
            return "the frame's checksum is wrong"
        return pa.ipc.read_record_batch(body, SCHEMA)
