"""Archiving the log: files are written first, and then become part of the archive by one manifest."""

from __future__ import annotations

import logging
import time
from itertools import takewhile
from typing import TYPE_CHECKING

from headrace.errors import ArchiveRefused, LogExpired
from headrace.eventlog.archive.channel_days import ChannelDay, split_by_channel_day
from headrace.eventlog.archive.event_files import EventFile
from headrace.eventlog.damage import raise_damage
from headrace.events.batch import coalesce
from headrace.events.positions import LogPosition, partition_of
from headrace.telemetry.metrics import ARCHIVE_LOST

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.storage import Storage
    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader

_log = logging.getLogger(__name__)
COMMIT_EVENTS = 1_000_000
"""The most that one commit takes, and that a crash may make the next run do again."""
_BATCH_ROWS = 16_384
_MAX_WAITING_BYTES = 128 << 20
_MOST_FILES = 256


def archive_log(
    storage: Storage,
    log: LogReader,
    end: LogPosition,
    stopped: Callable[[], bool] = lambda: False,
    commit_events: int = COMMIT_EVENTS,
    on_damage: Callable[[Damage], None] = raise_damage,
) -> Iterator[Manifest]:
    """Archive what the log has before `end` and the archive lacks; yield the manifest after each commit.

    Events that the log has removed meanwhile, or that can't be read, are counted as lost, and the rest goes on. When
    `stopped` returns true, uncommitted files are left for the next run to remove.
    """
    manifest = storage.manifest()
    archived = LogPosition(manifest.archived)
    if not archived <= end:
        problem = f"it holds events up to position {archived}, and the log ends at {end}: it is another log's"
        raise ArchiveRefused(storage.uri(""), problem)
    begin = log.start()
    manifest = _count_lost(storage, manifest, begin)
    for partition, stop in end.items():
        while (first := begin.join(LogPosition(manifest.archived))[partition]) < stop:
            last = min(first + commit_events, stop)
            damaged: list[Damage] = []
            try:
                files = write_files(storage, _unless(stopped, log.read(first, last, damaged.append)))
            except LogExpired:
                begin = log.start()
                if begin[partition] <= first:
                    raise
                storage.sweep()
                manifest = _count_lost(storage, manifest, begin)
                continue
            if stopped():
                return
            for each in damaged:
                on_damage(each)  # before it is skipped: after a crash in between it is reported again
            lost = {partition: count} if (count := sum(each.end - each.start for each in damaged)) else {}
            manifest = manifest.followed(now=time.time(), add=files, archived=LogPosition.at(last), lost=lost)
            storage.commit(manifest)
            ARCHIVE_LOST.inc(sum(lost.values()))
            yield manifest


def _count_lost(storage: Storage, manifest: Manifest, begin: LogPosition) -> Manifest:
    """Count what lies between the end of the archive and the start of the log as lost; a new archive loses nothing."""
    gaps = list(LogPosition(manifest.archived).ranges_to(begin)) if manifest.version else []
    if not gaps:
        return manifest
    lost = {partition_of(start): stop - start for start, stop in gaps}
    manifest = manifest.followed(
        now=time.time(), archived=begin.join(LogPosition(manifest.archived)), lost=lost
    )
    storage.commit(manifest)
    ARCHIVE_LOST.inc(sum(lost.values()))
    for start, stop in gaps:
        _log.error(
            "the log removed positions %d to %d (partition %d) before they were archived: history lacks them. "
            "Keep events in the log for longer, or archive more often (archive.interval_seconds)",
            start, stop - 1, partition_of(start),
        )  # fmt: skip
    return manifest


def _unless(stopped: Callable[[], bool], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return takewhile(lambda _: not stopped(), batches)


def write_files(storage: Storage, batches: Iterable[pa.RecordBatch]) -> list[ArchivedFile]:
    """Write events, which come in order of position, to durable files that no manifest names yet."""
    open_files: dict[ChannelDay, EventFile] = {}
    written: list[ArchivedFile] = []
    for batch in coalesce(batches, _BATCH_ROWS):
        for day, events in split_by_channel_day(batch):
            file = open_files.pop(day, None) or EventFile(storage, day)
            open_files[day] = file  # moved to the end: the least recently used file is closed first
            file.add(events)
        if len(open_files) > _MOST_FILES:
            written += [open_files.pop(each).close() for each in list(open_files)[:-_MOST_FILES]]
        if sum(file.waiting_bytes for file in open_files.values()) > _MAX_WAITING_BYTES:
            max(open_files.values(), key=lambda file: file.waiting_bytes).flush()
    written += [file.close() for file in open_files.values()]
    storage.keep(file.path for file in written)
    return written
