"""The last committed record of a topic partition."""

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

# An end that is at most so many records away is reached by reading on, not by a seek: they are being fetched already.
_NEAR = 1000


class LastRecord:
    """Reads the end of one topic partition, again and again. For one thread."""

    def __init__(self, settings: KafkaSettings, topic: str, partition: int) -> None:
        self._settings = settings
        self._partition = TopicPartition(topic, partition)
        self._offsets = Offsets(settings)
        self._consumer = consumer(settings)
        self._end = 0
        self._is_at_end = False
        self._last: confluent_kafka.Message | None = None

    def last(self) -> confluent_kafka.Message | None:
        """Return the record, or None where there is none.

        Transaction markers and aborted records take offsets too, so the search goes back further and further until it
        finds a record, but never beyond the one that was found before.
        """
        (high,) = self._offsets.ends([self._partition])
        if self._is_at_end and self._end < high <= self._end + _NEAR:
            self._move(*self._read_to(high))
        distance = 2
        while high > self._end:
            (low,) = self._offsets.starts([self._partition])
            start = max(low, self._end, high - distance)
            self._consumer.assign([TopicPartition(self._partition.topic, self._partition.partition, start)])
            found, reached = self._read_to(high)
            if found is not None or start in (low, self._end):
                self._move(found, reached)
            distance *= 8
        return self._last

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()

    def _move(self, found: confluent_kafka.Message | None, reached: int) -> None:
        self._end = reached
        if found is not None:
            self._last = found

    def _read_to(self, end: int) -> tuple[confluent_kafka.Message | None, int]:
        """Read on from the consumer's position; return the last record and the offset that was reached."""
        self._is_at_end = False
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
                self._is_at_end = True
                return found, reached
        raise BrokerUnavailable(self._settings.bootstrap, "no answer while reading the last record")
