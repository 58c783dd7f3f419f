"""The last committed record of a partition, over and over."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import confluent_kafka
from confluent_kafka import TopicPartition

from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.clients import consumer, explained

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings


class Tail:
    """Looks at the end of one partition. For one thread."""

    def __init__(self, settings: KafkaSettings, topic: str, partition: int) -> None:
        self._settings = settings
        self._place = (topic, partition)
        self._consumer = consumer(settings)
        self._end = 0
        self._last: confluent_kafka.Message | None = None

    def last(self) -> confluent_kafka.Message | None:
        """Return the record, or None where there is none.

        The marks of transactions and what was aborted take offsets too; so the look goes further back until it
        finds a record, but never behind the one that was found before.
        """
        low, high = self._watermarks()
        distance = 2
        while high > self._end:
            start = max(low, self._end, high - distance)
            self._consumer.assign([TopicPartition(*self._place, start)])
            found = self._last_before(high)
            if found is not None or start in (low, self._end):
                self._last, self._end = found or self._last, high
            distance *= 8
        return self._last

    def close(self) -> None:
        """Let go of the connection."""
        self._consumer.close()

    def _watermarks(self) -> tuple[int, int]:
        try:
            low, high = self._consumer.get_watermark_offsets(
                TopicPartition(*self._place), timeout=self._settings.timeout_seconds
            )
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error
        return low, high

    def _last_before(self, end: int) -> confluent_kafka.Message | None:
        """Return the last record before the end, from where the consumer stands."""
        found, deadline = None, time.monotonic() + self._settings.timeout_seconds
        while time.monotonic() < deadline:
            message = self._consumer.poll(0.1)
            if message is None:
                continue
            error = message.error()
            if error is not None and error.code() != error._PARTITION_EOF:  # noqa: SLF001
                raise BrokerUnavailable(self._settings.bootstrap, error.str())
            if error is None and message.offset() < end:
                found = message
            if message.offset() >= end - (error is None):
                return found
        raise BrokerUnavailable(self._settings.bootstrap, "no answer while reading the last record")
