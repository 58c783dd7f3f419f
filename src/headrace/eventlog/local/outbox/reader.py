"""Reading and draining the embedded outbox."""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.eventlog.local.files import sync_folder
from headrace.eventlog.local.outbox.files import (
    COVERED,
    DAMAGED,
    PUT_BACK,
    PlannedRange,
    UnreadablePairs,
    end_of,
    list_ranges,
    pairs_between,
    read_pairs,
    read_settled,
    write_settled,
)
from headrace.eventlog.local.segments import ONLY_PARTITION
from headrace.eventlog.local.watermark import Watermark
from headrace.events.positions import LogPosition
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import pyarrow as pa

_log = logging.getLogger(__name__)
_PART = "outbox"


class LocalOutboxReader:
    """Reads and drains the outbox; any process, one thread per instance.

    `end_of_log` bounds what is read: deliveries of events that the log lacks, because it was replaced by an older
    copy, wait until it is put back.
    """

    def __init__(self, folder: Path, end_of_log: Callable[[], LogPosition] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._end_of_log = end_of_log
        self._watermark = Watermark(folder / COVERED, create=True)
        self._obstacle: str | None = None

    def covered(self) -> LogPosition:
        """Return the log position before which all deliveries are planned."""
        return LogPosition.at(self._covered())

    def read(self, start: LogPosition) -> Iterator[tuple[LogPosition, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start`, up to the first hole."""
        begin, covered = start[ONLY_PARTITION], self._covered()
        if begin >= covered:
            return
        limit = covered if self._end_of_log is None else self._end_of_log()[ONLY_PARTITION]
        ranges = list_ranges(self._folder)
        for span in _contiguous(ranges, begin, min(covered, limit)):
            pairs = self._load(span)
            if pairs is None:
                break
            self._unblock()
            yield LogPosition.at(span.end), pairs_between(pairs, begin, span.end)
            begin = span.end
        if begin < covered:
            self._handle_hole(ranges, begin, limit)

    def size(self, start: LogPosition) -> int:
        """Return how many bytes the files take that hold positions behind `start`."""
        total = 0
        for span in list_ranges(self._folder):
            if span.end > start[ONLY_PARTITION]:
                with suppress(FileNotFoundError):  # it was drained meanwhile
                    total += span.path.stat().st_size
        return total

    def drop(self, before: LogPosition) -> int:
        """Remove files whose positions all lie before this one; the newest stays, it says what is covered."""
        ranges = list_ranges(self._folder)
        settled = min(before[ONLY_PARTITION], end_of(ranges))
        drained = [span for span in ranges[:-1] if span.end <= settled]
        try:
            if settled > (read_settled(self._folder) or 0):
                write_settled(self._folder, settled)
        except OSError:  # a full disk: there is room once the files are gone
            freed = _remove(self._folder, drained)
            write_settled(self._folder, settled)
            return freed
        return _remove(self._folder, drained)

    @property
    def is_blocked(self) -> bool:
        """Whether what follows is missing at the moment, and will come."""
        return self._obstacle is not None

    def _covered(self) -> int:
        covered = self._watermark.get()
        return end_of(list_ranges(self._folder)) if covered is None else covered

    def _load(self, span: PlannedRange) -> pa.Table | None:
        """Read a file. A damaged one is renamed, which makes it a hole."""
        try:
            return read_pairs(span)
        except FileNotFoundError:
            return None
        except UnreadablePairs as error:
            with suppress(FileNotFoundError):
                span.path.rename(span.path.with_name(span.path.name + DAMAGED))
            sync_folder(self._folder)
            _log.error(
                "%s is damaged: %s. It is kept as %s%s, and positions %d to %d are routed again from the log.",
                span.path, error, span.path.name, DAMAGED, span.start, span.end - 1,
            )  # fmt: skip
            return None

    def _handle_hole(self, ranges: list[PlannedRange], begin: int, limit: int) -> None:
        """Wait for the events of what is planned, or for the writer to fill a hole."""
        if any(span.start <= begin < span.end and span.path.exists() and span.end > limit for span in ranges):
            self._block(
                f"deliveries of position {begin} are planned, and the log ends at {limit}: {PUT_BACK}"
            )
            return
        for span in ranges:
            if span.start > begin and not self.is_blocked:
                self._load(span)  # so that all damaged files are routed again together
        settled = read_settled(self._folder)
        if settled is None or settled > begin:  # or the writer would not look for it
            with suppress(OSError):  # a full disk: the next read tries again
                write_settled(self._folder, begin)
        self._block(
            f"no file in {self._folder} plans the deliveries of position {begin}; they are routed again"
        )

    def _block(self, reason: str) -> None:
        if reason != self._obstacle:
            _log.error("%s", reason)
        self._obstacle = reason
        HEALTH.blocked(_PART, reason)

    def _unblock(self) -> None:
        if self._obstacle is not None:
            self._obstacle = None
            HEALTH.forget(_PART)


def _contiguous(ranges: list[PlannedRange], begin: int, end: int) -> Iterator[PlannedRange]:
    """Yield the files that follow one another from `begin` on, and end no later than `end`."""
    for span in ranges:
        if span.start <= begin < span.end <= end:
            yield span
            begin = span.end


def _remove(folder: Path, ranges: list[PlannedRange]) -> int:
    freed = 0
    for span in ranges:
        with suppress(FileNotFoundError):
            freed += span.path.stat().st_size
            span.path.unlink()
    if freed:
        sync_folder(folder)
    return freed
