"""Asking the brokers whether one can rest on them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import confluent_kafka

from headrace.eventlog.kafka.clients import administrator, explained
from headrace.eventlog.kafka.topics import Topics

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings


def examine_brokers(settings: KafkaSettings) -> str:
    """Say what was found; BrokerUnavailable where nobody answers. Nothing is made or changed."""
    names = [*(topic.name for topic in Topics(settings).listed), settings.outbox]
    client = administrator(settings)
    try:
        client.list_topics(timeout=settings.timeout_seconds)  # connects
        began = time.perf_counter()
        found = client.list_topics(timeout=settings.timeout_seconds)
    except confluent_kafka.KafkaException as error:
        raise explained(error, settings) from error
    took = (time.perf_counter() - began) * 1000
    topics = ", ".join(
        f"{name} ({len(found.topics[name].partitions)})" if name in found.topics else f"{name} (is made)"
        for name in names
    )
    return f"Kafka, brokers: {len(found.brokers)}, a round trip takes {took:.1f} ms; topics (partitions): {topics}"
