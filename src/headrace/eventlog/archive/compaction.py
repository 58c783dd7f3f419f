"""Compaction: many small files become few large ones, with the same events and positions."""

from __future__ import annotations

import math
from datetime import UTC, date, datetime
from itertools import groupby
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.errors import ArchiveRefused
from headrace.eventlog.archive.channel_days import ChannelDay
from headrace.eventlog.archive.event_files import EventFile
from headrace.eventlog.archive.verification import read_events
from headrace.events.batch import SCHEMA
from headrace.events.positions import position_at

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.storage import Storage

FEW = 8
"""So many files of similar size become one: each event is rewritten once per size class, not once per run."""
_SMALLEST = 1 << 16
_READ_ROWS = 4096


def files_to_join(manifest: Manifest, file_bytes: int, now: float) -> list[list[ArchivedFile]]:
    """Choose groups of neighbouring files of similar size, or of a day that is over; no result above `file_bytes`."""
    today = datetime.fromtimestamp(now, UTC).date().isoformat()
    chosen: list[list[ArchivedFile]] = []
    files = sorted(manifest.files, key=lambda file: (*_channel_day(file), file.first))
    for channel_day, group in groupby(files, _channel_day):
        neighbours = list(group)
        if channel_day[2] < today:
            chosen += [each for each in _packed(neighbours, file_bytes) if len(each) > 1]
        else:
            for _, like in groupby(neighbours, _size_class):
                chosen += [each for each in _packed(list(like), file_bytes) if len(each) >= FEW]
    return chosen


def join_files(storage: Storage, files: Sequence[ArchivedFile]) -> ArchivedFile:
    """Write the events of several files to a durable one that no manifest names yet."""
    first = files[0]
    joined = EventFile(storage, ChannelDay(first.namespace, first.channel, date.fromisoformat(first.date)))
    for partition in sorted({partition for file in files for partition in file.spans}):
        held = [file for file in files if partition in file.spans]
        for file in sorted(held, key=lambda file: file.spans[partition]):
            for events in _of_partition(storage, file, partition):
                joined.add(events)
    written = joined.close()
    if written.rows != sum(file.rows for file in files):
        raise ArchiveRefused(
            storage.uri(first.path), "its files don't hold the events that the manifest lists"
        )
    storage.keep([written.path])
    return written


def _channel_day(file: ArchivedFile) -> tuple[str, str, str]:
    return file.namespace, file.channel, file.date


def _size_class(file: ArchivedFile) -> int:
    return int(math.log(max(file.bytes, _SMALLEST) / _SMALLEST, FEW))


def _packed(files: Sequence[ArchivedFile], most: int) -> Iterator[list[ArchivedFile]]:
    """Divide neighbours into runs of at most `most` bytes; a file that is large enough is a run of its own."""
    run: list[ArchivedFile] = []
    for file in files:
        if run and sum(each.bytes for each in run) + file.bytes > most:
            yield run
            run = []
        run.append(file)
    if run:
        yield run


def _of_partition(storage: Storage, file: ArchivedFile, partition: int) -> Iterator[pa.RecordBatch]:
    for batch in read_events(storage, file, _READ_ROWS, SCHEMA.names):
        events = pa.RecordBatch.from_arrays(
            [batch[field.name].cast(field.type) for field in SCHEMA], schema=SCHEMA
        )
        if len(file.spans) > 1:
            positions = events["position"].to_numpy()
            first, behind = position_at(partition, 0), position_at(partition + 1, 0)
            events = events.filter(pa.array((positions >= first) & (positions < behind)))
        if events.num_rows:
            yield events
