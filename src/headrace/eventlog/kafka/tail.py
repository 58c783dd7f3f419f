"""The last committed record of a partition, over and over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from confluent_kafka import TopicPartition

from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.clients import consumer
from headrace.eventlog.kafka.offsets import Offsets

if TYPE_CHECKING:
    import confluent_kafka

    from headrace.eventlog.kafka.settings import KafkaSettings

# Records that are read on to, rather than beginning anew behind them: they are on their way already.
_NEAR = 1000


class Tail:
    """Looks at the end of one partition. For one thread."""

    def __init__(self, settings: KafkaSettings, topic: str, partition: int) -> None:
        self._settings = settings
        self._place = TopicPartition(topic, partition)
        self._offsets = Offsets(settings)
        self._consumer = consumer(settings)
        self._end = 0
        self._is_there = False
        self._last: confluent_kafka.Message | None = None

    def last(self) -> confluent_kafka.Message | None:
        """Return the record, or None where there is none.

        The marks of transactions and what was aborted take offsets too; so the look goes further back until it
        finds a record, but never behind the one that was found before.
        """
        (high,) = self._offsets.ends([self._place])
        if self._is_there and self._end < high <= self._end + _NEAR:
            self._move(*self._read_to(high))
        distance = 2
        while high > self._end:
            (low,) = self._offsets.starts([self._place])
            start = max(low, self._end, high - distance)
            self._consumer.assign([TopicPartition(self._place.topic, self._place.partition, start)])
            found, reached = self._read_to(high)
            if found is not None or start in (low, self._end):
                self._move(found, reached)
            distance *= 8
        return self._last

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _move(self, found: confluent_kafka.Message | None, reached: int) -> None:
        self._end = reached
        if found is not None:
            self._last = found

    def _read_to(self, end: int) -> tuple[confluent_kafka.Message | None, int]:
        """Read on from where the consumer stands; return the last record and the offset that was reached."""
        self._is_there = False
        found, deadline = None, time.monotonic() + self._settings.timeout_seconds
        while time.monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() != error._PARTITION_EOF:  # noqa: SLF001
                raise BrokerUnavailable(self._settings.bootstrap, error.str())
            reached = message.offset()
            if error is None:
                found, reached = message, reached + 1
            if reached >= end:
                self._is_there = True
                return found, reached
        raise BrokerUnavailable(self._settings.bootstrap, "no answer while reading the last record")
