"""Appending to the embedded log: one frame per commit, durable when `append` returns."""

from __future__ import annotations

import logging
import os
import secrets
import time
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING

from headrace.errors import LogReplaced, LogUnavailable
from headrace.eventlog.damage import Damage
from headrace.eventlog.local.continuity import Continuity
from headrace.eventlog.local.files import WriterLock, remove_temporaries, sync_folder, write_atomically
from headrace.eventlog.local.frames import (
    FRAME_HEADER,
    SEGMENT_HEADER,
    SegmentHead,
    pack_frame,
    pack_segment_head,
)
from headrace.eventlog.local.identity import LogIdentity, new_identity, read_identity, write_identity
from headrace.eventlog.local.recovery import SegmentTail, accept_gaps, recover
from headrace.eventlog.local.segments import END_WATERMARK, Segment, list_segments, segment_path
from headrace.eventlog.local.watermark import Watermark
from headrace.events.batch import to_batch
from headrace.telemetry.health import HEALTH
from headrace.telemetry.metrics import LOG_BYTES, LOG_SYNCS

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.events.recorded import Arrival

_log = logging.getLogger(__name__)
REPLACED_PART = "log files"
"""Its name in the register of health. It stays blocked until the process ends: free disk space mends nothing here."""


class SegmentWriter:
    """The one writer of a log folder; a lock keeps a second one out. Not for two threads at a time.

    Readers see a frame only after it was synced, and so never an event that a failed sync takes back.
    `end_record` is a watermark outside of the folder, which outlives the folder.
    """

    def __init__(
        self,
        folder: Path,
        segment_bytes: int,
        *,
        accept_damage: bool = False,
        continuity: Continuity | None = None,
        end_record: Path | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._segment_bytes = segment_bytes
        self._accept_damage = accept_damage
        self._replaced: str | None = None
        self._lock = WriterLock(folder)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            remove_temporaries(folder)
            self._watermark = Watermark(folder / END_WATERMARK, create=True)
            self._begin(continuity or Continuity())
            self._ends = [self._watermark, *_record(end_record)]
            self._publish_end()
            undo.pop_all()

    def _publish_end(self) -> None:
        for watermark in self._ends:
            watermark.set(self._end)

    def _begin(self, continuity: Continuity) -> None:
        """Find where to continue, behind every position that references know, and record the start."""
        own = read_identity(self._folder)
        found = recover(self._folder, self._watermark.get(), accept_damage=self._accept_damage)
        try:
            continuity.check(self._folder, own, found if isinstance(found, int) else found.end)
        except LogReplaced as replaced:
            if not self._accept_damage:
                raise
            found = self._pass_over(replaced, continuity, is_foreign=continuity.is_foreign(own))
            own = new_identity(continuity.names | ({own.name, *own.former} if own else set()))
        self._open(self._new_segment(found) if isinstance(found, int) else found)
        if self._accept_damage:
            accept_gaps(self._folder)
        self.identity = self._count_start(own or new_identity(), continuity.starts)

    def _count_start(self, own: LogIdentity, known_starts: int) -> LogIdentity | None:
        """Record one more start of the log, durably. A full disk prevents no start."""
        started = own._replace(starts=max(own.starts, known_starts) + 1)
        try:
            write_identity(self._folder, started)
        except OSError as error:
            _log.warning("can't record that the log was started: %s", error)
            return None
        return started

    def _pass_over(self, replaced: LogReplaced, continuity: Continuity, *, is_foreign: bool) -> int:
        """Set aside missing positions, and move the segments of another log away. Return where to continue."""
        lost = Damage(replaced.end, replaced.known, None, 0, "; ".join(replaced.problems))
        if lost.start < lost.end:
            continuity.set_aside(lost)
        _log.error("%s It was accepted: the log continues at position %d.", replaced, replaced.known)
        if is_foreign:
            _move_away(self._folder)
        return replaced.known

    @property
    def end(self) -> int:
        """The position the next event gets."""
        return self._end

    def append(self, arrivals: Sequence[Arrival]) -> int:
        """Store the events as one commit and return the position of the first."""
        self._check_in_place()
        first = self._end
        body = memoryview(to_batch(arrivals, first, time.time_ns() // 1000).serialize())
        try:
            if self._size >= self._segment_bytes:
                self._roll()
            self._write(pack_frame(body, first, len(arrivals), self._salt), body)
        except OSError as error:
            self._take_back()
            raise LogUnavailable(f"the event log can't be written: {error.strerror or error}") from error
        self._size += FRAME_HEADER + len(body)
        self._check_in_place()
        self._end += len(arrivals)
        self._publish_end()
        return first

    def close(self) -> None:
        """Release the folder."""
        self._file.close()
        for watermark in self._ends:
            watermark.close()
        self._lock.release()

    def _write(self, header: bytes, body: memoryview) -> None:
        """Write behind the last whole frame, whatever a failed append left there."""
        written, total = 0, len(header) + len(body)
        while written < total:
            parts: list[bytes | memoryview] = [header[written:], body[max(written - len(header), 0) :]]
            written += os.pwritev(self._file.fileno(), parts, self._size + written)
        os.fdatasync(self._file.fileno())
        LOG_SYNCS.inc()
        LOG_BYTES.inc(total)

    def _check_in_place(self) -> None:
        """Raise where the open segment was removed, replaced, or written by another process.

        Called before a commit and again after its sync, so that nothing is acknowledged that no reader will find. The
        next start examines the log; until then every event is refused.
        """
        if self._replaced is None:
            self._replaced = self._find_replacement()
        if self._replaced is not None:
            HEALTH.blocked(REPLACED_PART, self._replaced)
            raise LogUnavailable(self._replaced)

    def _find_replacement(self) -> str | None:
        opened = os.fstat(self._file.fileno())
        try:
            named = self._path.stat()
        except OSError:
            named = None
        if named is None or (named.st_dev, named.st_ino) != (opened.st_dev, opened.st_ino):
            problem = f"{self._path} was removed or replaced while the log was in use"
        elif opened.st_size < self._size or (opened.st_size > self._size and not self._is_untidy):
            problem = f"{self._path} has {opened.st_size} bytes instead of {self._size}: another process wrote to it"
        else:
            return None
        _log.error(
            "%s. No event is accepted until the service is started again, which checks the log.", problem
        )
        return f"{problem}; put the log back and start the service again"

    def _take_back(self) -> None:
        """Remove what a failed append left. If that fails too, the next append overwrites it."""
        self._is_untidy = True
        with suppress(OSError):
            os.ftruncate(self._file.fileno(), self._size)
            self._is_untidy = False

    def _roll(self) -> None:
        sealed = self._file
        if os.fstat(sealed.fileno()).st_size > self._size:  # a failed append could not be taken back
            os.ftruncate(sealed.fileno(), self._size)
            os.fsync(sealed.fileno())
        self._open(self._new_segment(self._end))
        sealed.close()

    def _new_segment(self, first: int) -> SegmentTail:
        head = SegmentHead(first, secrets.randbits(64))
        path = segment_path(self._folder, first)
        write_atomically(path, pack_segment_head(head))
        return SegmentTail(Segment(first, path), head.salt, SEGMENT_HEADER, first)

    def _open(self, tail: SegmentTail) -> None:
        self._path = tail.segment.path
        self._file = self._path.open("rb+", buffering=0)
        self._salt, self._size, self._end = tail.salt, tail.size, tail.end
        self._is_untidy = False


def _record(path: Path | None) -> list[Watermark]:
    if path is None:
        return []
    path.parent.mkdir(parents=True, exist_ok=True)
    return [Watermark(path, create=True)]


def _move_away(folder: Path) -> None:
    """Move the segments of another log into a folder of their own, so that they aren't taken for this one's."""
    target = folder / f"foreign-{time.time_ns()}"
    target.mkdir()
    for segment in list_segments(folder):
        segment.path.rename(target / segment.path.name)
    sync_folder(target)
    sync_folder(folder)
    _log.error("the segments of the other log are kept in %s", target)
