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

    Nothing behind the writer's end mark is looked at: it may not be durable yet.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._mark = Mark(folder / END_MARK)
        self._segments: list[Segment] = []
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
        while start < end:
            segment = self._segment_of(start)
            for batch in segment.read(start, end):
                yield batch
                start += batch.num_rows

    def _segment_of(self, position: int) -> _MappedSegment:
        index = self._index(position)
        is_last = index == len(self._segments) - 1
        if index < 0 or (is_last and not self._map(index).holds(position)):
            self._refresh()
            index = self._index(position)
        if index < 0:
            raise LogError(f"position {position} is no longer kept; the log begins at {self.start()}")
        return self._map(index)

    def _index(self, position: int) -> int:
        return bisect_right(self._segments, position, key=lambda segment: segment.first) - 1

    def _map(self, index: int) -> _MappedSegment:
        segment = self._segments[index]
        if segment.first not in self._mapped:
            self._mapped[segment.first] = _MappedSegment(segment)
        return self._mapped[segment.first]

    def _refresh(self) -> None:
        self._segments = list_segments(self._folder)
        kept = {segment.first for segment in self._segments}
        self._mapped = {first: mapped for first, mapped in self._mapped.items() if first in kept}


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
        self._salt = head.salt
        self._scanned, self._end = SEGMENT_HEADER, head.first

    def holds(self, position: int) -> bool:
        """Tell whether this segment has a frame with the position, looking as far as the file goes now."""
        if position >= self._end:
            self._scan(position)
        return position < self._end

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        if not self.holds(start):
            raise LogDamaged(self._path, self._scanned, f"the frame with position {start} can't be read")
        self.holds(end - 1)
        index = bisect_right(self._firsts, start) - 1
        while index < len(self._frames) and self._firsts[index] < end:
            offset, frame = self._frames[index]
            skip = max(start - frame.first, 0)
            yield self._batch(offset, frame).slice(skip, min(end - frame.first, frame.rows) - skip)
            index += 1

    def _batch(self, offset: int, frame: Frame) -> pa.RecordBatch:
        self._map.seek(offset)
        body = self._map.read_buffer(frame.length)
        if not body_is_whole(memoryview(body), frame):
            raise LogDamaged(self._path, offset, "the frame's checksum is wrong")
        return pa.ipc.read_record_batch(body, SCHEMA)

    def _scan(self, position: int) -> None:
        """Follow the frames until one holds the position. The writer cuts a torn frame, so look again next time."""
        if self._scanned + FRAME_HEADER > self._map.size() or self._path.stat().st_size > self._map.size():
            self._map = pa.memory_map(str(self._path))
        size = self._map.size()
        while self._end <= position and self._scanned + FRAME_HEADER <= size:
            self._map.seek(self._scanned)
            frame = unpack_frame(self._map.read(FRAME_HEADER), self._salt)
            if frame is None or self._scanned + FRAME_HEADER + frame.length > size:
                return
            self._firsts.append(frame.first)
            self._frames.append((self._scanned + FRAME_HEADER, frame))
            self._scanned += FRAME_HEADER + frame.length
            self._end = frame.first + frame.rows
