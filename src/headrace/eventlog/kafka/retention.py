"""Retention of the log's topics, where these are Headrace's own.

Kafka's own retention would remove events that are still needed. Such topics have none: Headrace removes an event once
it is old and no longer needed.
"""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING

import confluent_kafka
from confluent_kafka import TopicPartition
from confluent_kafka.admin import ConfigResource, ResourceType

from headrace.eventlog.kafka.clients import administrator, explained
from headrace.eventlog.kafka.offsets import Offsets
from headrace.eventlog.kafka.topics import LogPartitions, Topics
from headrace.events.positions import offset_of

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings
    from headrace.events.positions import LogPosition

_log = logging.getLogger(__name__)
_FOR_EVER = "-1"


class KafkaRetention:
    """Removes events that are old and no longer needed. For one thread; raises BrokerUnavailable."""

    def __init__(self, settings: KafkaSettings, retention_seconds: float) -> None:
        self._settings = settings
        self._retention = retention_seconds
        self._topics = Topics(settings)
        self._partitions = LogPartitions(settings)
        self._offsets = Offsets(settings)
        self._admin = administrator(settings)
        self._warn()

    def remove(self, removable: LogPosition) -> None:
        """Remove events before the log position `removable` that are older than the log keeps them."""
        partitions = [each for each in self._partitions.listed() if each in removable]
        if not partitions:
            return
        topic_partitions = [
            TopicPartition(topic.name, number)
            for topic, number in map(self._topics.kafka_partition, partitions)
        ]
        young = self._offsets.since(topic_partitions, int((time.time() - self._retention) * 1000))
        starts = self._offsets.starts(topic_partitions)
        wanted = [
            TopicPartition(topic_partition.topic, topic_partition.partition, end)
            for partition, topic_partition, first, start in zip(
                partitions, topic_partitions, young, starts, strict=True
            )
            if (end := min(first, offset_of(removable[partition]))) > start
        ]
        if wanted:
            self._delete(wanted)

    def _delete(self, topic_partitions: list[TopicPartition]) -> None:
        try:
            for removed in self._admin.delete_records(
                topic_partitions, request_timeout=self._settings.timeout_seconds
            ).values():
                removed.result()
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error

    def _warn(self) -> None:
        """Warn of topics that have a retention of their own."""
        topics = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in self._topics.listed]
        try:
            found = self._admin.describe_configs(topics, request_timeout=self._settings.timeout_seconds)
            kept = {topic.name: answer.result()["retention.ms"].value for topic, answer in found.items()}
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error
        for name, milliseconds in kept.items():
            if milliseconds != _FOR_EVER:
                _log.warning(
                    "topic %r has retention.ms=%s: Kafka removes its events after that time, even those that aren't "
                    "archived or delivered; kafka.owned expects %s",
                    name,
                    milliseconds,
                    _FOR_EVER,
                )
