"""The last committed record of a partition."""

from __future__ import annotations

import time
from contextlib import closing
from typing import TYPE_CHECKING

import confluent_kafka
from confluent_kafka import TopicPartition

from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.clients import consumer, explained

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings


def last_record(settings: KafkaSettings, topic: str, partition: int) -> confluent_kafka.Message | None:
    """Return the record, or None where there is none.

    The marks of transactions and what was aborted take offsets too; so the look goes further back until it
    finds a record.
    """
    with closing(consumer(settings)) as client:
        try:
            low, high = client.get_watermark_offsets(
                TopicPartition(topic, partition), timeout=settings.timeout_seconds
            )
        except confluent_kafka.KafkaException as error:
            raise explained(error, settings) from error
        distance = 2
        while True:
            start = max(low, high - distance)
            client.assign([TopicPartition(topic, partition, start)])
            found = _last_of(client, high, settings)
            if found is not None or start == low:
                return found
            distance *= 8


def _last_of(
    client: confluent_kafka.Consumer, end: int, settings: KafkaSettings
) -> confluent_kafka.Message | None:
    """Return the last record before the end, from where the client stands."""
    found, deadline = None, time.monotonic() + settings.timeout_seconds
    while time.monotonic() < deadline:
        message = client.poll(0.1)
        if message is None:
            continue
        error = message.error()
        if error is not None and error.code() != error._PARTITION_EOF:  # noqa: SLF001
            raise BrokerUnavailable(settings.bootstrap, error.str())
        if error is None and message.offset() < end:
            found = message
        if message.offset() >= end - (error is None):
            return found
    raise BrokerUnavailable(settings.bootstrap, "no answer while reading the last record")
