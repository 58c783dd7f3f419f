"""Appending to the embedded log: one frame per commit, durable when `append` returns."""

from __future__ import annotations

import os
import secrets
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from headrace.errors import LogUnavailable
from headrace.eventlog.local.files import WriterLock, remove_temporaries, write_whole
from headrace.eventlog.local.frames import SEGMENT_HEADER, SegmentHead, pack_frame, pack_segment_head
from headrace.eventlog.local.mark import Mark
from headrace.eventlog.local.recovery import Tail, recover
from headrace.eventlog.local.segments import Segment, segment_path
from headrace.events.batch import to_batch
from headrace.telemetry.metrics import LOG_BYTES, LOG_SYNCS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.events.recorded import Arrival

END_MARK = "END"


class SegmentWriter:
    """The one writer of a log folder; a lock keeps a second one out. Not for two threads at a time.

    Readers are told of a frame only after it was synced: an event that a failed sync takes back was never seen.
    """

    def __init__(self, folder: Path, segment_bytes: int, *, accept_damage: bool = False) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._lock = WriterLock(folder)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            remove_temporaries(folder)
            self._mark = Mark(folder / END_MARK, create=True)
            found = recover(folder, self._mark.get(), accept_damage=accept_damage)
            self._open(self._new_segment(found) if isinstance(found, int) else found)
            self._mark.set(self._end)
            undo.pop_all()

    @property
    def end(self) -> int:
        """The position the next event gets."""
        return self._end

    def append(self, arrivals: Sequence[Arrival]) -> int:
        """Store the events as one commit and return the position of the first."""
        first = self._end
        body = memoryview(to_batch(arrivals, first, time.time_ns() // 1000).serialize())
        try:
            if self._size >= self._segment_bytes:
                self._roll()
            self._write(pack_frame(body, first, len(arrivals), self._salt), body)
        except OSError as error:
            self._take_back()
            raise LogUnavailable(f"the event log can't be written: {error.strerror or error}") from error
        self._end += len(arrivals)
        self._mark.set(self._end)
        return first

    def close(self) -> None:
        """Let go of the folder."""
        self._file.close()
        self._mark.close()
        self._lock.release()

    def _write(self, header: bytes, body: memoryview) -> None:
        """Write behind the last whole frame, wherever a failed append left the file."""
        written, total = 0, len(header) + len(body)
        while written < total:
            parts: list[bytes | memoryview] = [header[written:], body[max(written - len(header), 0) :]]
            written += os.pwritev(self._file.fileno(), parts, self._size + written)
        os.fdatasync(self._file.fileno())
        self._size += total
        LOG_SYNCS.inc()
        LOG_BYTES.inc(total)

    def _take_back(self) -> None:
        """Remove what a failed append left. Where even that fails, the next append writes over it."""
        with suppress(OSError):
            os.ftruncate(self._file.fileno(), self._size)

    def _roll(self) -> None:
        sealed = self._file
        if os.fstat(sealed.fileno()).st_size > self._size:  # a failed append could not be taken back
            os.ftruncate(sealed.fileno(), self._size)
            os.fsync(sealed.fileno())
        self._open(self._new_segment(self._end))
        sealed.close()

    def _new_segment(self, first: int) -> Tail:
        head = SegmentHead(first, secrets.randbits(64))
        path = segment_path(self._folder, first)
        write_whole(path, pack_segment_head(head))
        return Tail(Segment(first, path), head.salt, SEGMENT_HEADER, first)

    def _open(self, tail: Tail) -> None:
        self._file = tail.segment.path.open("rb+", buffering=0)
        self._salt, self._size, self._end = tail.salt, tail.size, tail.end
