"""Many small files into few large ones. Events and positions stay; only the files around them change."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import ArchiveRefused
from headrace.eventlog.archive.event_files import EventFile
from headrace.eventlog.archive.examination import read_events
from headrace.eventlog.archive.partitions import Partition
from headrace.events.batch import SCHEMA
from headrace.events.positions import position_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.storage import Storage

FEW = 8
"""So many files of like size become one: each event is written again once per size, not once per run."""
_SMALLEST = 1 << 16
_READ_ROWS = 4096


def files_to_join(manifest: Manifest, file_bytes: int, now: float) -> list[list[ArchivedFile]]:
    """Choose files that lie side by side: of like size, or of a day that is over; no result above `file_bytes`."""
    today = datetime.fromtimestamp(now, UTC).date().isoformat()
    chosen: list[list[ArchivedFile]] = []
    files = sorted(manifest.files, key=lambda file: (*_home(file), file.first))
    for home, group in groupby(files, _home):
        neighbours = list(group)
        if home[2] < today:
            chosen += [each for each in _packed(neighbours, file_bytes) if len(each) > 1]
        else:
            for _, like in groupby(neighbours, _size_class):
                chosen += [each for each in _packed(list(like), file_bytes) if len(each) >= FEW]
    return chosen


def join_files(storage: Storage, files: Sequence[ArchivedFile]) -> ArchivedFile:
    """Write the events of several files to one, which is durable and which no manifest names yet."""
    home = files[0]
    joined = EventFile(storage, Partition(home.namespace, home.channel, date.fromisoformat(home.date)))
    for lane in sorted({lane for file in files for lane in file.spans}):
        held = [file for file in files if lane in file.spans]
        for file in sorted(held, key=lambda file: file.spans[lane]):
            for events in _of_lane(storage, file, lane):
                joined.add(events)
    written = joined.close()
    if written.rows != sum(file.rows for file in files):
        raise ArchiveRefused(storage.uri(home.path), "its files don't hold the events that it says they do")
    storage.keep([written.path])
    return written


def _home(file: ArchivedFile) -> tuple[str, str, str]:
    return file.namespace, file.channel, file.date


def _size_class(file: ArchivedFile) -> int:
    return int(math.log(max(file.bytes, _SMALLEST) / _SMALLEST, FEW))


def _packed(files: Sequence[ArchivedFile], most: int) -> Iterator[list[ArchivedFile]]:
    """Divide neighbours into runs that are no larger than allowed; a file that is large enough stands alone."""
    run: list[ArchivedFile] = []
    for file in files:
        if run and sum(each.bytes for each in run) + file.bytes > most:
            yield run
            run = []
        run.append(file)
    if run:
        yield run


def _of_lane(storage: Storage, file: ArchivedFile, lane: int) -> Iterator[pa.RecordBatch]:
    for batch in read_events(storage, file, _READ_ROWS, SCHEMA.names):
        events = pa.RecordBatch.from_arrays(
            [batch[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA
        )
        if len(file.spans) > 1:
            positions = events["position"].to_numpy()
            first, behind = position_at(lane, 0), position_at(lane + 1, 0)
            events = events.filter(pa.array((positions >= first) & (positions < behind)))
        if events.num_rows:
            yield events
