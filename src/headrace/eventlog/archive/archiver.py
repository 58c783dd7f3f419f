"""From the log to the archive: files first, unseen, and then the manifest that names them all at once."""

from __future__ import annotations

import logging
import time
from itertools import takewhile
from typing import TYPE_CHECKING

from headrace.errors import ArchiveRefused, LogExpired
from headrace.eventlog.archive.event_files import EventFile
from headrace.eventlog.archive.partitions import Partition, divide
from headrace.eventlog.damage import refuse
from headrace.events.batch import coalesce
from headrace.events.positions import Cut, lane_of
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
"""What one commit takes at most: what a crash may make the next run do again."""
_BATCH_ROWS = 16_384
_MAX_WAITING_BYTES = 128 << 20
_MOST_FILES = 256


def archive_log(
    storage: Storage,
    log: LogReader,
    end: Cut,
    stopped: Callable[[], bool] = lambda: False,
    commit_events: int = COMMIT_EVENTS,
    on_damage: Callable[[Damage], None] = refuse,
) -> Iterator[Manifest]:
    """Archive what the log has before `end` and the archive hasn't; yield the manifest after each commit.

    What the log has removed meanwhile, or can't be read there, is counted as lost, and the rest goes on. When `stopped`
    says so, what isn't committed is left lying for the next run to sweep up.
    """
    manifest = storage.manifest()
    archived = Cut(manifest.archived)
    if not archived <= end:
        problem = f"it holds events up to position {archived}, and the log ends at {end}: it is another log's"
        raise ArchiveRefused(storage.uri(""), problem)
    begin = log.start()
    manifest = _given_up(storage, manifest, begin)
    for lane, stop in end.items():
        while (first := begin.join(Cut(manifest.archived))[lane]) < stop:
            last = min(first + commit_events, stop)
            damaged: list[Damage] = []
            try:
                files = write_files(storage, _unless(stopped, log.read(first, last, damaged.append)))
            except LogExpired:
                begin = log.start()
                if begin[lane] <= first:
                    raise
                storage.sweep()
                manifest = _given_up(storage, manifest, begin)
                continue
            if stopped():
                return
            for each in damaged:
                on_damage(each)  # told before it is passed over: a crash between tells it again
            lost = {lane: count} if (count := sum(each.end - each.start for each in damaged)) else {}
            manifest = manifest.followed(now=time.time(), add=files, archived=Cut.at(last), lost=lost)
            storage.commit(manifest)
            ARCHIVE_LOST.inc(sum(lost.values()))
            yield manifest


def _given_up(storage: Storage, manifest: Manifest, begin: Cut) -> Manifest:
    """Count what lies between the archive and where the log begins as lost, once; a new archive begins where it may."""
    gaps = list(Cut(manifest.archived).ranges_to(begin)) if manifest.version else []
    if not gaps:
        return manifest
    lost = {lane_of(start): stop - start for start, stop in gaps}
    manifest = manifest.followed(now=time.time(), archived=begin.join(Cut(manifest.archived)), lost=lost)
    storage.commit(manifest)
    ARCHIVE_LOST.inc(sum(lost.values()))
    for start, stop in gaps:
        _log.error(
            "the log removed positions %d to %d (lane %d) before they were archived: history lacks them. "
            "Keep events in the log for longer, or archive more often (archive.interval_seconds)",
            start, stop - 1, lane_of(start),
        )  # fmt: skip
    return manifest


def _unless(stopped: Callable[[], bool], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    return takewhile(lambda _: not stopped(), batches)


def write_files(storage: Storage, batches: Iterable[pa.RecordBatch]) -> list[ArchivedFile]:
    """Write events, which come in order of position, to durable files that no manifest names yet."""
    open_files: dict[Partition, EventFile] = {}
    written: list[ArchivedFile] = []
    for batch in coalesce(batches, _BATCH_ROWS):
        for partition, events in divide(batch):
            file = open_files.pop(partition, None) or EventFile(storage, partition)
            open_files[partition] = file  # behind those that got nothing for longer
            file.add(events)
        if len(open_files) > _MOST_FILES:
            written += [open_files.pop(each).close() for each in list(open_files)[:-_MOST_FILES]]
        if sum(file.waiting_bytes for file in open_files.values()) > _MAX_WAITING_BYTES:
            max(open_files.values(), key=lambda file: file.waiting_bytes).flush()
    written += [file.close() for file in open_files.values()]
    storage.keep(file.path for file in written)
    return written
