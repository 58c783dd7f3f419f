"""Reading the embedded log from any process: segments are mapped, batches are views of the mapped bytes."""

from __future__ import annotations

from bisect import bisect_right
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import LogDamaged, LogError
from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    Frame,
    body_is_whole,
    unpack_frame,
    unpack_segment_head,
)
from headrace.eventlog.local.mark import Mark
from headrace.eventlog.local.segments import Segment, list_segments
from headrace.eventlog.local.writer import END_MARK
from headrace.events.batch import SCHEMA

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class SegmentReader:
    """Any number of readers in any process; one instance is for one thread.

    Nothing behind the writer's end mark is looked at. It may not be durable yet, and a failed append takes it
    back: reading a mapped page behind the end of its file is a SIGBUS.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = Mark(folder / END_MARK)
        self._segments: list[Segment] = []
        self._listed_to = 0
        self._mapped: dict[int, _MappedSegment] = {}

    def start(self) -> int:
        """Return the first position that is still kept."""
        segments = list_segments(self._folder)
        return segments[0].first if segments else 0

    def end(self) -> int:
        """Return the position the next event will get."""
        return self._mark.get() or 0

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) in order, one slice per commit, without copying them."""
        if end > self.end():
            raise LogError(f"positions up to {end} were asked for, and the log ends at {self.end()}")
        if end > self._listed_to:
            self._list()
        try:
            while start < end:
                segment, segment_end = self._segment_of(start)
                for batch in segment.read(start, min(end, segment_end)):
                    yield batch
                    start += batch.num_rows
        except FileNotFoundError:
            self._list()
            problem = f"position {start} is no longer kept; the log begins at {self.start()}"
            raise LogError(problem) from None

    def _list(self) -> None:
        """List the segments anew: these hold every position below the end, which is therefore read first."""
        self._listed_to = self.end()
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
        if segment.first not in self._mapped:
            self._mapped[segment.first] = _MappedSegment(segment)
        return self._mapped[segment.first]


class _MappedSegment:
    """One mapped segment and the offsets of its frames, found as far as anybody asked."""

    def __init__(self, segment: Segment) -> None:
        self._path = segment.path
        self._firsts: list[int] = []
        self._frames: list[tuple[int, Frame]] = []
        self._map = pa.memory_map(str(segment.path))
        head = unpack_segment_head(self._map.read(SEGMENT_HEADER))
        if isinstance(head, str):
            raise LogDamaged(segment.path, 0, head)
        if head.first != segment.first:
            raise LogDamaged(segment.path, 0, f"its header says that it begins at position {head.first}")
        self._salt = head.salt
        self._followed, self._end = SEGMENT_HEADER, head.first

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end), which are durable and in this segment."""
        while start < end:
            self._follow(start)
            offset, frame = self._frames[bisect_right(self._firsts, start) - 1]
            skip, stop = start - frame.first, min(end - frame.first, frame.rows)
            yield self._batch(offset, frame).slice(skip, stop - skip)
            start = frame.first + stop

    def _follow(self, position: int) -> None:
        """Follow the frames until one holds the position. Be careful: only one that is durable may be asked for."""
        while self._end <= position:
            frame = self._next_frame()
            if frame is None:  # the file has grown since it was mapped
                self._map = pa.memory_map(str(self._path))
                frame = self._next_frame()
            if frame is None:
                problem = f"the frame with position {position} can't be read"
                raise LogDamaged(self._path, self._followed, problem)
            self._firsts.append(frame.first)
            self._frames.append((self._followed + FRAME_HEADER, frame))
            self._followed += FRAME_HEADER + frame.length
            self._end = frame.first + frame.rows

    def _next_frame(self) -> Frame | None:
        """Return the header of the frame that follows, if it stands there and all of it is mapped."""
        room = self._map.size() - self._followed - FRAME_HEADER
        if room < 0:
            return None
        self._map.seek(self._followed)
        frame = unpack_frame(self._map.read(FRAME_HEADER), self._salt)
        follows = frame is not None and frame.first == self._end and frame.length <= room
        return frame if follows else None

    def _batch(self, offset: int, frame: Frame) -> pa.RecordBatch:
        self._map.seek(offset)
        body = self._map.read_buffer(frame.length)
        if not body_is_whole(memoryview(body), frame):
            raise LogDamaged(self._path, offset, "the frame's checksum is wrong")
        return pa.ipc.read_record_batch(body, SCHEMA)
