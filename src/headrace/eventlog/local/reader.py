"""Reading the embedded log from any process: segments are mapped, batches are views of the mapped bytes.

Damage has positions like everything else: a frame that can't be read is a hole of as many positions as it held, and
what follows is found again. Who reads decides whether a hole is an error or is gone around.
"""

from __future__ import annotations

from bisect import bisect_right
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa

from headrace.errors import LogError, LogExpired, LogUnavailable
from headrace.eventlog.damage import Damage, refuse
from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    Frame,
    body_is_whole,
    find_frame,
    unpack_frame,
    unpack_segment_head,
)
from headrace.eventlog.local.mark import Mark
from headrace.eventlog.local.segments import END_MARK, Segment, list_segments
from headrace.events.batch import SCHEMA
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_ANY_SIZE = 1 << 62
# Who reads on needs the segment at hand and the one before; what was read long ago would only fill the memory.
_MOST_MAPPED = 4


@contextmanager
def _log_in(folder: Path) -> Iterator[None]:
    """Say what it means that a file of the log isn't there."""
    try:
        yield
    except FileNotFoundError:
        raise LogUnavailable(
            f"there is no log in {folder}: put it back, or start the role that makes one (http or ingress)"
        ) from None


class SegmentReader:
    """Any number of readers in any process; one instance is for one thread.

    Nothing behind the writer's end mark is looked at. It may not be durable yet, and a failed append takes it
    back: reading a mapped page behind the end of its file is a SIGBUS.
    """

    least_poll_seconds = 0.0
    least_gap = 50

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        with _log_in(folder):
            self._mark = Mark(folder / END_MARK)
        self._segments: list[Segment] = []
        self._listed_to = 0
        self._mapped: dict[int, _MappedSegment] = {}

    def start(self) -> Cut:
        """Return the cut before which nothing is kept any more."""
        with _log_in(self._folder):
            segments = list_segments(self._folder)
        return Cut.at(segments[0].first) if segments else Cut()

    def end(self) -> Cut:
        """Return the cut behind the last event."""
        return Cut.at(self._end())

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = refuse
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) in order, one slice per commit, without copying them.

        Positions that can't be read any more are told to `on_damage`, which may raise, and are left out.
        """
        self._reach_out(end)
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
        """Return where a range ends that begins at `start` and holds so many bytes: `end` at the latest.

        It holds one commit at least, since a commit isn't cut.
        """
        self._reach_out(end)
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
        self._reach_out(end)
        total = 0
        while start < end:
            segment, segment_end = self._segment_of(start)
            stop = min(end, segment_end)
            total += segment.reach(start, stop, _ANY_SIZE, is_first=True)[1]
            start = stop
        return total

    def _reach_out(self, end: int) -> None:
        if end > self._end():
            raise LogError(f"positions up to {end} were asked for, and the log ends at {self._end()}")
        if end > self._listed_to:
            self._list()

    def _gone(self, position: int) -> LogExpired:
        self._list()
        return LogExpired(f"position {position}", f"the log begins at {self.start()}")

    def _end(self) -> int:
        return self._mark.get() or 0

    def _list(self) -> None:
        """List the segments anew: these hold every position below the end, which is therefore read first."""
        self._listed_to = self._end()
        self._segments = list_segments(self._folder)
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
        """Map the segment, and let go of the one that was used longest ago; batches keep what they show."""
        mapped = self._mapped.pop(segment.first, None) or _MappedSegment(segment)
        self._mapped[segment.first] = mapped
        while len(self._mapped) > _MOST_MAPPED:
            del self._mapped[next(iter(self._mapped))]
        return mapped


class _Place(NamedTuple):
    """Where some positions are: a frame's body, or a hole with the problem that made it."""

    offset: int
    frame: Frame
    problem: str | None = None


class _MappedSegment:
    """One mapped segment and the offsets of its frames, found as far as anybody asked."""

    def __init__(self, segment: Segment) -> None:
        self._path = segment.path
        self._firsts: list[int] = []
        self._places: list[_Place] = []
        self._map = pa.memory_map(str(segment.path))
        head = unpack_segment_head(self._map.read(SEGMENT_HEADER))
        if not isinstance(head, str) and head.first != segment.first:
            head = f"its header says that it begins at position {head.first}"
        self._unreadable = head if isinstance(head, str) else None
        self._salt = 0 if isinstance(head, str) else head.salt
        self._followed, self._end = 0 if self._unreadable else SEGMENT_HEADER, segment.first

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch | Damage]:
        """Yield what is at positions [start, end), which are durable and in this segment."""
        while start < end:
            place = self._place_of(start, end)
            skip, stop = start - place.frame.first, min(end - place.frame.first, place.frame.rows)
            batch = self._batch(place) if place.problem is None else place.problem
            start, begun = place.frame.first + stop, start
            if isinstance(batch, str):
                yield Damage(begun, start, self._path, place.offset, batch)
            else:
                yield batch.slice(skip, stop - skip)

    def reach(self, start: int, end: int, most_bytes: int, *, is_first: bool) -> tuple[int, int]:
        """Return where so many bytes from `start` on end, and how many they are; one frame at least if it is first."""
        self._place_of(end - 1, end)
        index = begin = bisect_right(self._firsts, start) - 1
        last = bisect_right(self._firsts, end - 1) - 1
        beginning = self._places[begin].offset
        while index < last and self._places[index + 1].offset - beginning <= most_bytes:
            index += 1
        place = self._places[index]
        taken = place.offset + place.frame.length - beginning
        if taken > most_bytes and not (is_first and index == begin):
            return max(place.frame.first, start), place.offset - beginning
        return min(place.frame.first + place.frame.rows, end), taken

    def _place_of(self, position: int, limit: int) -> _Place:
        """Follow the frames until one holds the position. Be careful: only a durable one may be asked for."""
        while self._end <= position:
            place = self._next_place()
            if place is None:  # the file has grown since it was mapped
                self._map = pa.memory_map(str(self._path))
                place = self._next_place() or self._hole(limit)
            self._firsts.append(place.frame.first)
            self._places.append(place)
            self._end = place.frame.first + place.frame.rows
        return self._places[bisect_right(self._firsts, position) - 1]

    def _next_place(self) -> _Place | None:
        """Return the frame that follows, if its header stands there and all of it is mapped."""
        room = self._map.size() - self._followed - FRAME_HEADER
        if room < 0 or self._unreadable is not None:
            return None
        self._map.seek(self._followed)
        frame = unpack_frame(self._map.read(FRAME_HEADER), self._salt)
        if frame is None or frame.first != self._end or frame.length > room:
            return None
        place = _Place(self._followed + FRAME_HEADER, frame)
        self._followed = place.offset + frame.length
        return place

    def _hole(self, limit: int) -> _Place:
        """Return what can't be read: up to the next whole frame, or else all there is."""
        problem = self._unreadable or f"the frame with position {self._end} can't be read"
        at, following = self._followed, limit
        if self._unreadable is None:
            self._map.seek(0)
            found = find_frame(memoryview(self._map.read_buffer()), at, self._salt, self._end)
            if found is not None and found[1].first < limit:
                self._followed, following = found[0], found[1].first
        return _Place(at, Frame(0, self._end, following - self._end, 0), problem)

    def _batch(self, place: _Place) -> pa.RecordBatch | str:
        self._map.seek(place.offset)
        body = self._map.read_buffer(place.frame.length)
        if not body_is_whole(memoryview(body), place.frame):
            return "the frame's checksum is wrong"
        return pa.ipc.read_record_batch(body, SCHEMA)
