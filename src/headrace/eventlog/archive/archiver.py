"""From the log to the archive: files first, unseen, and then the manifest that names them all at once."""

from __future__ import annotations

import time
from itertools import takewhile
from typing import TYPE_CHECKING

from headrace.errors import ArchiveRefused
from headrace.eventlog.archive.event_files import EventFile
from headrace.eventlog.archive.partitions import Partition, divide
from headrace.events.batch import coalesce
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    import pyarrow as pa

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.storage import Storage
    from headrace.eventlog.log import LogReader

COMMIT_EVENTS = 1_000_000
"""What one commit takes at most: what a crash may make the next run do again."""
_BATCH_ROWS = 16_384
_MAX_WAITING_BYTES = 128 << 20
_MOST_FILES = 256


def archive_log(
    storage: Storage,
    log: LogReader,
    begin: Cut,
    end: Cut,
    stopped: Callable[[], bool] = lambda: False,
    commit_events: int = COMMIT_EVENTS,
) -> Iterator[Manifest]:
    """Archive what the log has before `end` and the archive hasn't; yield the manifest after each commit.

    `begin` is where the log begins. Positions that it no longer has stay unarchived. When `stopped` says so, what
    isn't committed is left lying for the next run to sweep up.
    """
    manifest = storage.manifest()
    archived = Cut(manifest.archived)
    if not archived <= end:
        problem = f"it holds events up to position {archived}, and the log ends at {end}: it is another log's"
        raise ArchiveRefused(storage.uri(""), problem)
    for start, stop in begin.join(archived).ranges_to(end):
        for first in range(start, stop, commit_events):
            last = min(first + commit_events, stop)
            files = write_files(storage, _unless(stopped, log.read(first, last)))
            if stopped():
                return
            manifest = manifest.followed(now=time.time(), add=files, archived=Cut.at(last))
            storage.commit(manifest)
            yield manifest


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
