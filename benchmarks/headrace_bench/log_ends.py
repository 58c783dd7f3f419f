"""How many events a log holds and how many of them are routed, asked from outside."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.location import kafka_location, open_log
from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.eventlog.kafka.settings import KafkaSettings

    Ends = Callable[[], tuple[int, int]]
    """Return how many events are accepted and how many routed. Any thread may ask."""


def local_ends(data: Path) -> Ends:
    """Watch the embedded log and outbox of a data folder."""
    log, outbox = SegmentReader(data / "log"), LocalOutboxReader(data / "outbox")

    def ends() -> tuple[int, int]:
        routed = outbox.covered()
        return LogPosition().count_to(log.end()), LogPosition().count_to(routed)

    return ends


def kafka_ends(settings: KafkaSettings) -> Ends:
    """Watch log and outbox in Kafka. Marks of transactions are counted as if they were events."""
    from headrace.eventlog.kafka.outbox.writer import Coverage  # optional dependency

    log, coverage, lock = open_log(kafka_location(settings)), Coverage(settings), threading.Lock()

    def ends() -> tuple[int, int]:
        with lock:
            routed = coverage.position()
            return LogPosition().count_to(log.end()), LogPosition().count_to(routed)

    return ends
