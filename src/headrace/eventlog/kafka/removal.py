"""Removing events from the log's topics, where these are Headrace's own.

Kafka's own retention waits for nobody. Such topics have none: an event leaves when it is old and nobody needs it.
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
from headrace.eventlog.kafka.topics import Partitions, Topics
from headrace.events.positions import offset_of

if TYPE_CHECKING:
    from headrace.eventlog.kafka.settings import KafkaSettings
    from headrace.events.positions import Cut

_log = logging.getLogger(__name__)
_FOR_EVER = "-1"


class Removal:
    """For one thread. Raises BrokerUnavailable."""

    def __init__(self, settings: KafkaSettings, retention_seconds: float) -> None:
        self._settings = settings
        self._retention = retention_seconds
        self._topics = Topics(settings)
        self._partitions = Partitions(settings)
        self._offsets = Offsets(settings)
        self._admin = administrator(settings)
        self._warn()

    def remove(self, removable: Cut) -> None:
        """Have the brokers remove what lies before the cut and is older than the log keeps it."""
        lanes = [lane for lane in self._partitions.lanes() if lane in removable]
        if not lanes:
            return
        places = [
            TopicPartition(topic.name, partition) for topic, partition in map(self._topics.partition, lanes)
        ]
        young = self._offsets.since(places, int((time.time() - self._retention) * 1000))
        starts = self._offsets.starts(places)
        wanted = [
            TopicPartition(place.topic, place.partition, end)
            for lane, place, first, start in zip(lanes, places, young, starts, strict=True)
            if (end := min(first, offset_of(removable[lane]))) > start
        ]
        if wanted:
            self._delete(wanted)

    def _delete(self, places: list[TopicPartition]) -> None:
        try:
            for removed in self._admin.delete_records(
                places, request_timeout=self._settings.timeout_seconds
            ).values():
                removed.result()
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error

    def _warn(self) -> None:
        """Say which topics have a retention all the same: they were made by somebody else, or before."""
        topics = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in self._topics.listed]
        try:
            found = self._admin.describe_configs(topics, request_timeout=self._settings.timeout_seconds)
            kept = {topic.name: answer.result()["retention.ms"].value for topic, answer in found.items()}
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error
        for name, milliseconds in kept.items():
            if milliseconds != _FOR_EVER:
                _log.warning(
                    "topic %r has retention.ms=%s: Kafka removes its events after that time, archived and delivered "
                    "or not; kafka.owned expects %s",
                    name,
                    milliseconds,
                    _FOR_EVER,
                )
