"""What waits in the outbox is told to the ingress, which refuses events when it is too much."""

import pytest
from tests.eventlog.kafka.conftest import eventually
from tests.eventlog.kafka.outbox.test_writer import NAMES, drain, join, pairs

from headrace.config import load_config
from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter
from headrace.events.positions import LogPosition
from headrace.service.storage.databases import open_databases
from headrace.service.storage.logs import open_log_writer

__all__ = ["join"]


@pytest.fixture
async def gauges(settings, tmp_path):
    """What the ingress of a service on these topics looks at."""
    environment = {
        "HEADRACE_DATA": str(tmp_path),
        "HEADRACE_LOG_KIND": "kafka",
        "HEADRACE_KAFKA_BOOTSTRAP": settings.bootstrap,
        "HEADRACE_KAFKA_TOPICS": '["' + '","'.join(settings.topics) + '"]',
        "HEADRACE_KAFKA_OUTBOX": settings.outbox,
    }
    config = load_config(environment=environment)
    with open_databases(config, 0.0) as databases:
        opened = open_log_writer(config, databases)
        yield opened.gauges
        await opened.writer.close()


async def test_it_grows_while_nobody_drains_and_is_gone_when_somebody_did(settings, gauges, join):
    assert gauges.outbox_bytes() == 0, "an outbox that was just made"
    writer = KafkaOutboxWriter(settings)
    assert gauges.outbox_bytes() == 0
    writer.write(LogPosition(), LogPosition.at(100), pairs(0, 100))
    eventually(lambda: gauges.outbox_bytes() == 100 * len(NAMES) * 50)
    KafkaOutboxWriter(settings).write(
        LogPosition.at(100), LogPosition.at(300), pairs(100, 300)
    )  # goes on counting
    eventually(lambda: gauges.outbox_bytes() == 300 * len(NAMES) * 50)
    member = join()
    eventually(lambda: member.own == {0, 1})
    reader = member.reader()
    drain(reader, LogPosition.at(300))
    reader.drop(LogPosition.at(300))
    eventually(lambda: gauges.outbox_bytes() == 0)
