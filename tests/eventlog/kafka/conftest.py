"""Topics of their own for each test, on the one broker."""

import time
import uuid

import pytest

from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.kafka.topics import ensure_topics


@pytest.fixture
def settings(broker):
    name = uuid.uuid4().hex[:8]
    made = KafkaSettings(
        bootstrap=broker.bootstrap,
        topics=(f"events-{name}", f"team-a=team-a-{name}"),
        outbox=f"outbox-{name}",
        partitions=2,
        replicas=1,
        timeout_seconds=10.0,
        client_options=(),
    )
    ensure_topics(made)
    return made


def eventually(holds, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, "it doesn't come about"
        time.sleep(0.02)
