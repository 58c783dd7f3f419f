"""Logs in memory to archive from, and what is in an archive."""

import pyarrow as pa
import pyarrow.parquet as pq

from headrace.eventlog.archive.archiver import COMMIT_EVENTS, archive_log
from headrace.events.batch import SCHEMA, from_batch, to_batch
from headrace.events.positions import Cut


class RecordedLog:
    """A LogReader over batches, with publish times that a test chooses: a real log takes the clock's."""

    def __init__(self, batches):
        self.batches = batches
        self.first = 0

    def read(self, start, end):
        for batch in self.batches:
            positions = batch["position"].to_numpy()
            wanted = batch.filter(pa.array((positions >= start) & (positions < end)))
            if wanted.num_rows:
                yield wanted

    def events(self, start, end):
        return [recorded for batch in self.read(start, end) for recorded in from_batch(batch)]


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
    end = end if isinstance(end, Cut) else Cut.at(end)
    for _ in archive_log(storage, log, Cut.at(log.first), end, commit_events):
        pass
    return storage.manifest()


def archived(storage):
    """Every event of the archive, in order of position; the files lie where the manifest says and nothing else does."""
    manifest = storage.manifest()
    lying = storage.list_events()
    leaving = {each.path for each in manifest.leaving}
    assert {file.path: file.bytes for file in manifest.files} == {
        path: size for path, size in lying.items() if path not in leaving
    }
    found = []
    for file in manifest.files:
        table = pq.read_table(storage.open(file.path), columns=SCHEMA.names).cast(SCHEMA)
        events = [recorded for batch in table.to_batches() for recorded in from_batch(batch)]
        assert [event.position for event in events] == sorted(event.position for event in events)
        assert {(each.arrival.namespace, each.arrival.channel) for each in events} == {
            (file.namespace, file.channel)
        }
        found += events
    return sorted(found, key=lambda recorded: recorded.position)
