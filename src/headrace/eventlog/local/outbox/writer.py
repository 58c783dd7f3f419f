"""Writing the embedded outbox."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING

from headrace.errors import LogUnavailable, OutboxGap
from headrace.eventlog.local.files import WriterLock, remove_temporaries, sync_folder
from headrace.eventlog.local.identity import read_identity
from headrace.eventlog.local.outbox.files import (
    COVERED,
    PUT_BACK,
    end_of,
    list_ranges,
    pairs_between,
    read_settled,
    uncovered,
    write_pairs,
)
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.recovery import end_of_log
from headrace.eventlog.local.segments import ONLY_PARTITION
from headrace.eventlog.local.watermark import Watermark
from headrace.eventlog.pairs import NO_PAIRS
from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from pathlib import Path

    import pyarrow as pa

_ENDLESS = (1 << 63) - 1


class LocalOutboxWriter:
    """The one writer of an outbox folder; a lock keeps a second pipeline out. For one thread at a time.

    An outbox without any file begins at `begin`: what comes before is covered without deliveries. `log` is the folder
    of the log that it is routed from.
    """

    def __init__(self, folder: Path, begin: LogPosition | None = None, log: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._log = log
        self._inode = folder.stat().st_ino
        self._lock = WriterLock(folder)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            remove_temporaries(folder)
            self._watermark = Watermark(folder / COVERED, create=True)
            first = (begin or LogPosition())[ONLY_PARTITION]
            if first and not list_ranges(folder) and read_settled(folder) is None:
                write_pairs(folder, 0, first, NO_PAIRS)
            self.refresh()
            undo.pop_all()

    def covered(self) -> LogPosition:
        """Return the log position before which all deliveries are planned."""
        return LogPosition.at(self._holes[0][0])

    def refresh(self) -> str | None:
        """Find out again what the files cover, since some may have been damaged or removed.

        Return why nothing may be planned now, if the log has been replaced by another one or by an older copy.
        """
        self._check_folder()
        self._find_holes()
        if self._holes[0][0] > (self._watermark.get() or 0):
            sync_folder(self._folder)  # a file may be there whose name isn't durable yet
        self._watermark.set(self._holes[0][0])
        return None if self._log is None else self._mismatch(self._log)

    def _mismatch(self, log: Path) -> str | None:
        own, of = read_identity(log), read_identity(self._folder)
        if own is not None and of is not None and not own.continues(of):
            return f"{self._folder} was routed from the log {of.name}, and {log} is the log {own.name}: {PUT_BACK}"
        try:
            end = SegmentReader(log).end()[ONLY_PARTITION]
        except (FileNotFoundError, LogUnavailable):  # its watermark is gone; the next event brings it back
            end = end_of_log(log)
        planned = self._holes[-1][0]
        if end < planned:
            return f"deliveries are planned up to position {planned}, and {log} ends at {end}: {PUT_BACK}"
        return None

    def write(self, start: LogPosition, end: LogPosition, pairs: pa.Table) -> int:
        """Plan the deliveries from `start` to `end` that are not planned yet; return how many were new."""
        self._check_folder()
        if not start <= self.covered():
            raise OutboxGap(self.covered(), start)
        new = 0
        try:
            while self._holes[0][0] < end[ONLY_PARTITION]:
                new += self._fill(*self._holes[0], end[ONLY_PARTITION], pairs)
        except OSError:
            # The file may be there all the same; a second one with its positions would double their deliveries.
            self._find_holes()
            raise
        return new

    def close(self) -> None:
        """Release the folder."""
        self._watermark.close()
        self._lock.release()

    def _find_holes(self) -> None:
        """List the ranges that no file covers; the last is the endless one behind all files."""
        ranges, settled = list_ranges(self._folder), read_settled(self._folder)
        begin = (ranges[0].start if ranges else 0) if settled is None else settled
        self._holes = [*uncovered(ranges, begin), (max(begin, end_of(ranges)), _ENDLESS)]

    def _fill(self, first: int, behind: int, end: int, pairs: pa.Table) -> int:
        """Write the file of a hole, as far as it lies before `end`."""
        stop = min(behind, end)
        fresh = pairs_between(pairs, first, stop).sort_by("position")
        write_pairs(self._folder, first, stop, fresh)
        self._holes = [(stop, behind), *self._holes[1:]] if stop < behind else self._holes[1:]
        self._watermark.set(self._holes[0][0])
        return int(fresh.num_rows)

    def _check_folder(self) -> None:
        """Raise where the folder isn't the one that was opened: its lock keeps nobody out any more."""
        try:
            if self._folder.stat().st_ino == self._inode:
                return
        except FileNotFoundError:
            pass
        raise LogUnavailable(f"the outbox {self._folder} was removed or replaced while it was in use")
