"""From a log in Kafka to the archive, on a real broker: every partition, and what Kafka removes too early."""

import json

import pytest
from click.testing import CliRunner
from confluent_kafka import TopicPartition
from tests.eventlog.archive.archives import archived
from tests.eventlog.archive.archives import settings as archive_settings
from tests.eventlog.arrivals import arrivals

from headrace.cli.main import main
from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.kafka.clients import administrator
from headrace.eventlog.kafka.reader import KafkaLogReader, skip
from headrace.eventlog.kafka.topics import Topics
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.events.batch import from_batch
from headrace.events.event import Event
from headrace.events.positions import LogPosition, offset_of, partition_of
from headrace.events.recorded import Arrival
from headrace.telemetry.metrics import ARCHIVE_LOST


@pytest.fixture
async def writer(settings):
    opened = KafkaLogWriter(settings, "archived", 1 << 20)
    yield opened
    await opened.close()


@pytest.fixture
def reader(settings):
    opened = RacedReader(settings)
    yield opened
    opened.close()


class RacedReader(KafkaLogReader):
    """A reader that Kafka's retention overtakes between its question for the start and its first record."""

    overtaken_at: int | None = None

    def read(self, start, end, on_damage=skip):
        if self.overtaken_at is not None:
            self.close()  # what a consumer has fetched ahead is not lost
            remove(self._settings, self.overtaken_at)
            self.overtaken_at = None
        return super().read(start, end, on_damage)


@pytest.fixture
def storage(tmp_path):
    return Storage(str(tmp_path / "archive"))


async def append(writer, names, keys=8):
    for number in names:
        attributes = {
            "specversion": "1.0",
            "id": f"{number}",
            "source": "/s",
            "type": "t",
            "partitionkey": f"{number % keys}",
        }
        await writer.append([Arrival(Event(attributes), "default", "default")], 100)


def remove(settings, position):
    """Have the broker remove what stands before a position, as its retention does."""
    topic, kafka_partition = Topics(settings).kafka_partition(partition_of(position))
    place = TopicPartition(topic.name, kafka_partition, offset_of(position))
    client = administrator(settings)
    for removed in client.delete_records([place]).values():
        removed.result(settings.timeout_seconds)


def every(reader, begin=None):
    ranges = (begin or LogPosition()).ranges_to(reader.end())
    found = [each for span in ranges for batch in reader.read(*span) for each in from_batch(batch)]
    return sorted(found, key=lambda recorded: recorded.position)


async def test_all_partitions_are_archived(writer, reader, storage):
    keeper = ArchiveMaintenance(storage, reader, archive_settings())
    assert keeper.run().archived == 0, "there are no events yet"
    await append(writer, range(20))
    await writer.append(arrivals(range(5)), 100)
    assert keeper.run().archived == 25
    await append(writer, range(20, 30))
    done = keeper.run()
    assert (done.archived, done.lost) == (10, 0)
    events = every(reader)
    assert archived(storage) == events
    assert len({partition_of(each.position) for each in events}) == 2
    assert LogPosition(done.manifest.archived) == reader.end()


async def test_what_kafka_removed_is_told_once_and_the_rest_goes_on(
    writer, reader, storage, settings, caplog
):
    keeper = ArchiveMaintenance(storage, reader, archive_settings())
    await append(writer, range(10))
    keeper.run()
    kept, end = archived(storage), reader.end()
    await append(writer, range(10, 40))
    partition = min(end)
    remove(settings, end[partition] + 3)
    before = ARCHIVE_LOST._value.get()
    done = keeper.run()
    assert (done.archived, done.lost, done.manifest.lost) == (27, 3, {partition: 3})
    rest = every(reader, end.join(reader.start()))
    assert archived(storage) == sorted(kept + rest, key=lambda recorded: recorded.position)
    assert ARCHIVE_LOST._value.get() - before == 3
    assert f"removed positions {end[partition]} to {end[partition] + 2}" in caplog.text
    again = keeper.run()
    assert (again.archived, again.lost, again.manifest.lost) == (0, 0, {partition: 3})


async def test_everything_was_removed(writer, reader, storage, settings):
    keeper = ArchiveMaintenance(storage, reader, archive_settings())
    await append(writer, range(4), keys=1)
    keeper.run()
    await append(writer, range(4, 9), keys=1)
    (position,) = reader.end().values()
    remove(settings, position)
    assert (keeper.run().lost, keeper.run().lost) == (5, 0)
    await append(writer, [9], keys=1)
    assert keeper.run().archived == 1
    assert [each.event.id for each in archived(storage)] == ["0", "1", "2", "3", "9"]


async def test_retention_overtakes_the_archiver(writer, reader, storage):
    keeper = ArchiveMaintenance(storage, reader, archive_settings())
    await append(writer, range(2), keys=1)
    keeper.run()
    await append(writer, range(2, 9), keys=1)
    (partition,) = reader.end()
    reader.overtaken_at = reader.end()[partition] - 3
    done = keeper.run()
    assert (done.archived, done.lost) == (3, 4)
    assert [each.event.id for each in archived(storage)] == ["0", "1", "6", "7", "8"]


async def test_a_new_archive_of_an_old_topic_has_lost_nothing(writer, reader, storage, settings):
    await append(writer, range(6), keys=1)
    (position,) = reader.end().values()
    remove(settings, position - 2)
    done = ArchiveMaintenance(storage, reader, archive_settings()).run()
    assert (done.archived, done.lost) == (2, 0)


async def test_by_hand(writer, settings, tmp_path, monkeypatch):
    for name, value in {
        "LOG_KIND": "kafka",
        "KAFKA_BOOTSTRAP": settings.bootstrap,
        "KAFKA_TOPICS": json.dumps(settings.topics),
        "KAFKA_OUTBOX": settings.outbox,
    }.items():
        monkeypatch.setenv(f"HEADRACE_{name}", value)

    def told(command):
        result = CliRunner().invoke(main, ["archive", command, "--data", str(tmp_path), "--json"])
        assert result.exit_code == 0, result.output
        return json.loads(result.output)

    await append(writer, range(9))
    assert told("status")["waiting_in_log"] == 9
    assert told("run") == {"archived": 9, "positions_lost": 0, "files_joined": 0, "files_expired": 0}
    status = told("status")
    assert (status["events"], status["waiting_in_log"], status["positions_lost"]) == (9, 0, 0)
