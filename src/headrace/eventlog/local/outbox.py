"""The embedded outbox: one Arrow file per routed range, named by the log positions it covers.

The files are the truth, and they have to be contiguous. A position that no whole file covers though a later one is
covered is a hole: who reads stops before it and waits, and who writes routes it again from the log. `SETTLED` says from
where on files are needed, so that those that were removed in good order are no holes.
"""

from __future__ import annotations

import logging
from contextlib import ExitStack, closing, suppress
from typing import TYPE_CHECKING

import msgspec
import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import LogUnavailable, OutboxGap
from headrace.eventlog.local.files import (
    WriterLock,
    read_checked,
    remove_temporaries,
    sync_folder,
    write_checked,
)
from headrace.eventlog.local.identity import read_identity
from headrace.eventlog.local.mark import Mark
from headrace.eventlog.local.outbox_files import (
    DAMAGED,
    PlannedRange,
    UnreadablePairs,
    list_ranges,
    read_pairs,
    uncovered,
    write_pairs,
)
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.recovery import end_of_log
from headrace.eventlog.local.segments import ONLY_LANE
from headrace.events.positions import Cut
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_log = logging.getLogger(__name__)
_MARK = "COVERED"
_SETTLED = "SETTLED"
_PART = "outbox"
_NO_PAIRS = pa.Table.from_batches([], pa.schema({"position": pa.int64(), "subscription": pa.string()}))
_ENDLESS = (1 << 63) - 1
_PUT_BACK = "put the newer log back, or start the service again, which says what can be done"


class OutboxFiles:
    """Reads and drains the outbox; any process, one thread per instance.

    `end_of_log` bounds what is read: deliveries of events that the log doesn't have, because it was replaced by an
    older copy, wait until it is put back.
    """

    def __init__(self, folder: Path, end_of_log: Callable[[], Cut] | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._end_of_log = end_of_log
        self._mark = Mark(folder / _MARK, create=True)
        self._obstacle: str | None = None

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        return Cut.at(self._covered())

    def read(self, start: Cut) -> Iterator[tuple[Cut, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start`, up to the first hole."""
        begin, covered = start[ONLY_LANE], self._covered()
        if begin >= covered:
            return
        limit = covered if self._end_of_log is None else self._end_of_log()[ONLY_LANE]
        ranges = list_ranges(self._folder)
        for span in _contiguous(ranges, begin, min(covered, limit)):
            pairs = self._load(span)
            if pairs is None:
                break
            self._go_on()
            yield Cut.at(span.end), _between(pairs, begin, span.end)
            begin = span.end
        if begin < covered:
            self._hold(ranges, begin, limit)

    def size(self, start: Cut) -> int:
        """Return how many bytes the files take that hold positions behind `start`."""
        total = 0
        for span in list_ranges(self._folder):
            if span.end > start[ONLY_LANE]:
                with suppress(FileNotFoundError):  # it was drained meanwhile
                    total += span.path.stat().st_size
        return total

    def drop(self, before: Cut) -> int:
        """Remove files whose positions all lie before the cut; the newest stays, it says what is covered."""
        ranges = list_ranges(self._folder)
        settled = min(before[ONLY_LANE], _end_of(ranges))
        is_new = settled > (_settled(self._folder) or 0)
        try:
            if is_new:
                _settle(self._folder, settled)
        except OSError:  # a full disk: there is room when they are gone
            freed = _remove(self._folder, [span for span in ranges[:-1] if span.end <= settled])
            _settle(self._folder, settled)
            return freed
        return _remove(self._folder, [span for span in ranges[:-1] if span.end <= settled])

    @property
    def is_held(self) -> bool:
        """Whether what follows is missing at the moment, and will come."""
        return self._obstacle is not None

    def _covered(self) -> int:
        covered = self._mark.get()
        return _end_of(list_ranges(self._folder)) if covered is None else covered

    def _load(self, span: PlannedRange) -> pa.Table | None:
        """Read a file; one that is damaged gets another name, which makes it a hole."""
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

    def _hold(self, ranges: list[PlannedRange], begin: int, limit: int) -> None:
        """Wait for the events of what is planned, or for whoever writes to fill a hole."""
        if any(span.start <= begin < span.end and span.path.exists() and span.end > limit for span in ranges):
            self._wait(
                f"deliveries of position {begin} are planned, and the log ends at {limit}: {_PUT_BACK}"
            )
            return
        for span in ranges:
            if span.start > begin and not self.is_held:
                self._load(span)  # what is damaged is routed again together
        settled = _settled(self._folder)
        if settled is None or settled > begin:  # or nobody would look for it
            with suppress(OSError):  # a full disk: it is tried again with the next look
                _settle(self._folder, begin)
        self._wait(
            f"no file in {self._folder} plans the deliveries of position {begin}; they are routed again"
        )

    def _wait(self, reason: str) -> None:
        if reason != self._obstacle:
            _log.error("%s", reason)
        self._obstacle = reason
        HEALTH.blocked(_PART, reason)

    def _go_on(self) -> None:
        if self._obstacle is not None:
            self._obstacle = None
            HEALTH.forget(_PART)


class OutboxFileWriter:
    """The one writer of an outbox folder; a lock keeps a second pipeline out. For one thread at a time.

    `begin` is where an outbox without any file begins: what comes before is covered without deliveries. `log` is the
    folder of the log that it is routed from.
    """

    def __init__(self, folder: Path, begin: Cut | None = None, log: Path | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._log = log
        self._inode = folder.stat().st_ino
        self._lock = WriterLock(folder)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            remove_temporaries(folder)
            self._mark = Mark(folder / _MARK, create=True)
            first = (begin or Cut())[ONLY_LANE]
            if first and not list_ranges(folder) and _settled(folder) is None:
                write_pairs(folder, 0, first, _NO_PAIRS)
            self.look_again()
            undo.pop_all()

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        return Cut.at(self._holes[0][0])

    def look_again(self) -> str | None:
        """Find out anew what the files cover, which may have been damaged or removed since.

        Return why nothing may be planned now: the log has been replaced by another one, or an older copy.
        """
        self._make_sure()
        self._list()
        if self._holes[0][0] > (self._mark.get() or 0):
            sync_folder(self._folder)  # a file may be there whose name isn't durable yet
        self._mark.set(self._holes[0][0])
        return None if self._log is None else self._mismatch(self._log)

    def _mismatch(self, log: Path) -> str | None:
        own, of = read_identity(log), read_identity(self._folder)
        if own is not None and of is not None and not own.goes_on_from(of):
            return f"{self._folder} was routed from the log {of.name}, and {log} is the log {own.name}: {_PUT_BACK}"
        try:
            end = SegmentReader(log).end()[ONLY_LANE]
        except (FileNotFoundError, LogUnavailable):  # its mark is gone; the next event brings it back
            end = end_of_log(log)
        planned = self._holes[-1][0]
        if end < planned:
            return f"deliveries are planned up to position {planned}, and {log} ends at {end}: {_PUT_BACK}"
        return None

    def write(self, start: Cut, end: Cut, pairs: pa.Table) -> int:
        """Plan the deliveries of what lies between the cuts and is not covered; return how many were new."""
        self._make_sure()
        if not start <= self.covered():
            raise OutboxGap(self.covered(), start)
        new = 0
        try:
            while self._holes[0][0] < end[ONLY_LANE]:
                new += self._fill(*self._holes[0], end[ONLY_LANE], pairs)
        except OSError:
            # The file may be there all the same; another one of its positions would double their deliveries.
            self._list()
            raise
        return new

    def close(self) -> None:
        """Let go of the folder."""
        self._mark.close()
        self._lock.release()

    def _list(self) -> None:
        """Find the ranges that no file covers, the endless one behind all files last."""
        ranges, settled = list_ranges(self._folder), _settled(self._folder)
        begin = (ranges[0].start if ranges else 0) if settled is None else settled
        self._holes = [*uncovered(ranges, begin), (max(begin, _end_of(ranges)), _ENDLESS)]

    def _fill(self, first: int, behind: int, end: int, pairs: pa.Table) -> int:
        """Write the file of a hole, as far as it lies before `end`."""
        stop = min(behind, end)
        fresh = _between(pairs, first, stop).sort_by("position")
        write_pairs(self._folder, first, stop, fresh)
        self._holes = [(stop, behind), *self._holes[1:]] if stop < behind else self._holes[1:]
        self._mark.set(self._holes[0][0])
        return int(fresh.num_rows)

    def _make_sure(self) -> None:
        """Raise where the folder isn't the one that was opened: its lock keeps nobody out any more."""
        try:
            if self._folder.stat().st_ino == self._inode:
                return
        except FileNotFoundError:
            pass
        raise LogUnavailable(f"the outbox {self._folder} was removed or replaced while it was in use")


def _contiguous(ranges: list[PlannedRange], begin: int, end: int) -> Iterator[PlannedRange]:
    """Yield the files that follow one another from `begin` on, and end no later than `end`."""
    for span in ranges:
        if span.start <= begin < span.end <= end:
            yield span
            begin = span.end


def end_of_outbox(folder: Path) -> int:
    """Return the position behind every one that was ever planned, as far as files and mark tell."""
    if not folder.is_dir():
        return 0
    try:
        with closing(Mark(folder / _MARK)) as mark:
            marked = mark.get() or 0
    except (FileNotFoundError, LogUnavailable):
        marked = 0
    return max(marked, _settled(folder) or 0, _end_of(list_ranges(folder)))


def _remove(folder: Path, ranges: list[PlannedRange]) -> int:
    freed = 0
    for span in ranges:
        with suppress(FileNotFoundError):
            freed += span.path.stat().st_size
            span.path.unlink()
    if freed:
        sync_folder(folder)
    return freed


def _settled(folder: Path) -> int | None:
    content = read_checked(folder / _SETTLED)
    return None if content is None else msgspec.json.decode(content, type=int)


def _settle(folder: Path, position: int) -> None:
    write_checked(folder / _SETTLED, msgspec.json.encode(position))


def _end_of(ranges: list[PlannedRange]) -> int:
    return max((span.end for span in ranges), default=0)


def _between(pairs: pa.Table, start: int, end: int) -> pa.Table:
    positions = pairs["position"]
    return pairs.filter(pc.and_(pc.greater_equal(positions, start), pc.less(positions, end)))
