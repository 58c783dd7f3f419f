"""The embedded outbox: one Arrow file per routed range, named by the log positions it covers."""

from __future__ import annotations

import os
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc

from headrace.errors import OutboxGap
from headrace.eventlog.local.files import WriterLock, remove_temporaries, sync_folder, write_whole
from headrace.eventlog.local.mark import Mark
from headrace.eventlog.local.segments import ONLY_LANE
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_SUFFIX = ".arrow"
_MARK = "COVERED"
_NO_PAIRS = pa.table({"position": pa.array([], pa.int64()), "subscription": pa.array([], pa.string())})


class _Range(NamedTuple):
    start: int
    end: int
    path: Path


def _list_ranges(folder: Path) -> list[_Range]:
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    spans = (name.removesuffix(_SUFFIX).split("-") for name in names)
    return [_Range(int(start), int(end), folder / f"{start}-{end}{_SUFFIX}") for start, end in spans]


class OutboxFiles:
    """Reads and drains the outbox; any process, one thread per instance."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._mark = Mark(folder / _MARK, create=True)

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        return Cut.at(self._covered())

    def read(self, start: Cut) -> Iterator[tuple[Cut, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start`."""
        begin, covered = start[ONLY_LANE], self._covered()
        if begin >= covered:
            return
        for span in _list_ranges(self._folder):
            if begin < span.end <= covered:
                yield Cut.at(span.end), _since(_load(span.path), begin)
                begin = span.end
        if begin < covered:  # no file covers the rest: its events are older than the outbox
            yield Cut.at(covered), _NO_PAIRS

    def size(self, start: Cut) -> int:
        """Return how many bytes the files take that hold positions behind `start`."""
        total = 0
        for span in _list_ranges(self._folder):
            if span.end > start[ONLY_LANE]:
                with suppress(FileNotFoundError):  # it was drained meanwhile
                    total += span.path.stat().st_size
        return total

    def drop(self, before: Cut) -> int:
        """Remove files whose positions all lie before the cut; the newest stays, it says what is covered."""
        freed = 0
        for span in _list_ranges(self._folder)[:-1]:
            if span.end > before[ONLY_LANE]:
                break
            freed += span.path.stat().st_size
            span.path.unlink()
        if freed:
            sync_folder(self._folder)
        return freed

    def _covered(self) -> int:
        covered = self._mark.get()
        return _covered_by_files(self._folder) if covered is None else covered


class OutboxFileWriter:
    """The one writer of an outbox folder; a lock keeps a second pipeline out."""

    def __init__(self, folder: Path, begin: Cut | None = None) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder = folder
        self._lock = WriterLock(folder)
        with ExitStack() as undo:
            undo.callback(self._lock.release)
            remove_temporaries(folder)
            self._mark = Mark(folder / _MARK, create=True)
            self._covered = max(_covered_by_files(folder), (begin or Cut())[ONLY_LANE])
            self._mark.set(self._covered)
            undo.pop_all()

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        return Cut.at(self._covered)

    def write(self, start: Cut, end: Cut, pairs: pa.Table) -> int:
        """Plan the deliveries of what lies between the cuts, and return how many were new."""
        if not start <= self.covered():
            raise OutboxGap(self.covered(), start)
        if end <= self.covered():
            return 0
        fresh = _since(pairs, self._covered).sort_by("position")
        path = self._folder / f"{self._covered:020d}-{end[ONLY_LANE]:020d}{_SUFFIX}"
        try:
            write_whole(path, _encode(fresh))
        except OSError:
            # The file may be there all the same; another one of its positions would double their deliveries.
            self._covered = max(self._covered, _covered_by_files(self._folder))
            raise
        self._covered = end[ONLY_LANE]
        self._mark.set(self._covered)
        return int(fresh.num_rows)

    def close(self) -> None:
        """Let go of the folder."""
        self._mark.close()
        self._lock.release()


def _covered_by_files(folder: Path) -> int:
    ranges = _list_ranges(folder)
    return ranges[-1].end if ranges else 0


def _since(pairs: pa.Table, start: int) -> pa.Table:
    return pairs.filter(pc.greater_equal(pairs["position"], start))


def _encode(pairs: pa.Table) -> memoryview:
    """A subscription id stands in the file once, however many events it gets."""
    compact = pa.table(
        {"position": pairs["position"], "subscription": pairs["subscription"].dictionary_encode()}
    ).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, compact.schema) as writer:
        writer.write_table(compact)
    return memoryview(sink.getvalue())


def _load(path: Path) -> pa.Table:
    """Read a file that `drop` can't have removed: it is read before the cursor passes it."""
    with pa.memory_map(str(path)) as mapped:
        return pa.ipc.open_file(mapped).read_all()
