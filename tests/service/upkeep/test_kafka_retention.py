"""What leaves topics of the log that are Headrace's own, on a real broker: what nobody needs any more, and nothing else."""

import uuid
from contextlib import closing
from dataclasses import replace

import pytest
from tests.eventlog.archive.archives import settings as archive_settings
from tests.eventlog.arrivals import arrivals
from tests.ledger.entries import wait
from tests.opening import opening

from headrace.config import load_config
from headrace.eventlog.archive.maintenance import ArchiveMaintenance
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.retention import KafkaRetention
from headrace.eventlog.kafka.topics import ensure_topics
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.eventlog.outbox_partitions import OutboxPartitions
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Ledger
from headrace.service.upkeep.kafka_retention import shrink, shrinks


@pytest.fixture
def config(broker, tmp_path):
    name = uuid.uuid4().hex[:8]
    environment = {
        "HEADRACE_DATA": str(tmp_path),
        "HEADRACE_LOG_KIND": "kafka",
        "HEADRACE_LOG_RETENTION_SECONDS": "0",
        "HEADRACE_KAFKA_BOOTSTRAP": broker.bootstrap,
        "HEADRACE_KAFKA_TOPICS": f'["own-{name}"]',
        "HEADRACE_KAFKA_OUTBOX": f"own-{name}-outbox",
        "HEADRACE_KAFKA_PARTITIONS": "2",
        "HEADRACE_KAFKA_OWNED": "true",
        "HEADRACE_ARCHIVE_GRACE_SECONDS": "0",
    }
    made = load_config(environment=environment)
    ensure_topics(made.kafka)
    return made


@pytest.fixture
async def reader(config):
    """Sixty events of one source: they lie in one partition."""
    with closing(KafkaLogReader(config.kafka)) as opened:
        writer = KafkaLogWriter(config.kafka, "own", 1 << 20)
        for start in range(0, 60, 20):
            await writer.append(arrivals(range(start, start + 20)), 100)
        await writer.close()
        yield opened


@pytest.fixture
def ledger(config):
    with opening(Ledger, config.delivery.url) as opened:
        yield opened


def settle(config, share, cut, *waits):
    with opening(Ledger, config.delivery.url, shares=OutboxPartitions(frozenset({share}), 2)) as ledger:
        ledger.commit(Changes(list(waits), [], [], cut))


async def test_an_event_leaves_when_every_share_and_the_archive_are_done_with_it(config, reader, ledger):
    turn, (partition,) = shrink(config, ledger), reader.end()
    first = reader.start()[partition]

    def left():
        turn(None)
        return reader.start()[partition] - first

    settle(config, 0, LogPosition.at(first + 40))
    assert left() == 0, "the other dispatcher has settled nothing"
    settle(config, 1, LogPosition.at(first + 30))
    assert left() == 0, "nothing is archived"
    ArchiveMaintenance(Storage(config.archive.path), reader, archive_settings()).run()
    assert left() == 30
    settle(config, 1, LogPosition.at(first + 50), wait("s", first + 35, 1e12))
    assert left() == 35, "it is tried again later"
    assert reader.end()[partition] - first >= 60


async def test_what_is_young_stays_whoever_is_done_with_it(config, reader, ledger, caplog):
    turn = shrink(replace(config, log=replace(config.log, retention_seconds=3600.0)), ledger)
    for share in (0, 1):
        settle(config, share, reader.end())
    ArchiveMaintenance(Storage(config.archive.path), reader, archive_settings()).run()
    before = reader.start()
    turn(None)
    assert reader.start() == before
    assert "retention.ms" not in caplog.text, "these topics were made without one"


def test_topics_are_nobody_s_own_unless_it_is_said(broker, config, caplog):
    others = replace(config.kafka, topics=(f"{config.kafka.topics[0]}-others",), owned=False)
    assert shrinks(config)
    assert not shrinks(replace(config, kafka=others))
    ensure_topics(others)
    KafkaRetention(replace(others, owned=True), 0.0)
    assert "Kafka removes its events after that time" in caplog.text
