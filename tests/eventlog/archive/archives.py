"""Logs in memory to archive from, and what is in an archive."""

import time

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.eventlog.archive.archiver import COMMIT_EVENTS, archive_log
from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.settings import ArchiveSettings
from headrace.eventlog.archive.storage import Storage
from headrace.events.batch import SCHEMA, from_batch, to_batch
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival

DAY = 86_400_000_000
HUGE = 1 << 50


class RecordedLog:
    """A LogReader over batches, with publish times that a test chooses: a real log takes the clock's."""

    def __init__(self, batches):
        self.batches = batches
        self.first = 0
        self.expired = 0
        self.last = sum(batch.num_rows for batch in batches)

    def start(self):
        return LogPosition.at(self.first)

    def end(self):
        return LogPosition.at(self.last)

    def read(self, start, end, on_damage=None):
        for batch in self.batches:
            positions = batch["position"].to_numpy()
            wanted = batch.filter(pa.array((positions >= start) & (positions < end)))
            if wanted.num_rows:
                yield wanted

    def events(self, start, end):
        return [recorded for batch in self.read(start, end) for recorded in from_batch(batch)]


def arrival(name, namespace="n", channel="c", **attributes):
    return Arrival(
        Event({"specversion": "1.0", "id": str(name), "source": "/s", "type": "t", **attributes}),
        namespace,
        channel,
    )


def recorded_log(commits, times=None):
    batches, position = [], 0
    for number, arrivals in enumerate(commits):
        batches.append(
            to_batch(arrivals, position, times[number] if times else 1_767_225_600_000_000 + number)
        )
        position += len(arrivals)
    return RecordedLog(batches)


def archive(storage, log, end, commit_events=COMMIT_EVENTS):
    """Archive up to a position or a cut, and return the manifest then."""
    end = end if isinstance(end, LogPosition) else LogPosition.at(end)
    for _ in archive_log(storage, log, end, commit_events=commit_events):
        pass
    return storage.manifest()


def archived(storage, only=None, tidy=True):
    """Every event of the archive, in order of position; and nothing lies there but what the manifest names."""
    manifest = storage.manifest()
    leaving = {each.path for each in manifest.leaving}
    lying = {path: size for path, size in storage.list_events().items() if path not in leaving}
    assert not tidy or {file.path: file.bytes for file in manifest.files} == lying
    found = []
    for file in manifest.files if only is None else [only]:
        table = pq.read_table(storage.open(file.path), columns=SCHEMA.names).cast(SCHEMA)
        events = [recorded for batch in table.to_batches() for recorded in from_batch(batch)]
        assert [event.position for event in events] == sorted(event.position for event in events)
        assert len(events) == file.rows
        homes = {(each.arrival.namespace, each.arrival.channel) for each in events}
        assert homes == {(file.namespace, file.channel)}
        found += events
    return sorted(found, key=lambda recorded: recorded.position)


def settings(seconds=float(HUGE), size=HUGE, file_bytes=HUGE, grace=0.0):
    return ArchiveSettings(
        enabled=True, path="", interval_seconds=1.0, retention_seconds=seconds, retention_bytes=size,
        file_bytes=file_bytes, grace_seconds=grace,
    )  # fmt: skip


def keeper(storage, log, wanted=None):
    """A keeper that keeps ten days, and replaced files not at all."""
    return ArchiveMaintenance(storage, log, wanted or settings(seconds=10 * 86_400.0))


def prepared(folder):
    """An archive with a file to expire and two to join; and its log, with events of two channels to archive."""
    now = time.time_ns() // 1000
    log = recorded_log(
        [
            [arrival(0), arrival(1)],
            [arrival(2), arrival(3)],
            [arrival(4)],
            [arrival(n, channel=channel) for n in range(5, 9) for channel in ("c", "d")],
        ],
        [now - 20 * DAY, now - DAY, now - DAY + 1000, now],
    )
    storage = Storage(str(folder))
    for end in (2, 4, 5):
        archive(storage, log, end)
    log.expired = 2
    return log
