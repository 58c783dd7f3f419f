"""Locations of logs, as texts that travel to other processes: a folder, or the settings of a log in Kafka as JSON."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.local.reader import SegmentReader

if TYPE_CHECKING:
    from headrace.eventlog.log import LogReader


def kafka_location(settings: KafkaSettings) -> str:
    """Return the location of a log in Kafka; that of an embedded log is its folder."""
    return msgspec.json.encode(settings).decode()


def open_log(location: str) -> LogReader:
    """Open a log for reading."""
    if not location.startswith("{"):
        return SegmentReader(Path(location))
    from headrace.eventlog.kafka.reader import KafkaLogReader  # optional dependency

    return KafkaLogReader(msgspec.json.decode(location, type=KafkaSettings))


@lru_cache(maxsize=1)
def cached_log(location: str) -> LogReader:
    """Return a log that stays open. For Spark's workers alone: each is one thread, and they outlive a query."""
    return open_log(location)
