"""Where a log is, as a text that travels to other processes, and reading it from there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.local.reader import SegmentReader

if TYPE_CHECKING:
    from headrace.eventlog.log import LogReader


def kafka_place(settings: KafkaSettings) -> str:
    """Return the place of a log in Kafka; that of an embedded log is its folder."""
    return msgspec.json.encode(settings).decode()


def open_log(place: str) -> LogReader:
    """Open the log at a place for reading."""
    if not place.startswith("{"):
        return SegmentReader(Path(place))
    from headrace.eventlog.kafka.reader import KafkaLogReader  # optional dependency

    return KafkaLogReader(msgspec.json.decode(place, type=KafkaSettings))
