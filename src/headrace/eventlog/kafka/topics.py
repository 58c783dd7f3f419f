"""The topics of the log: which partition of the log is which partition of which topic, and whose events it holds.

A partition's number is made of the index of its topic in the setting and of its number in Kafka. Topics may be appended
to the list, and partitions added to a topic; removing or reordering topics would change the meaning of positions.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
from confluent_kafka.admin import NewTopic

from headrace.errors import BrokerUnavailable, ConfigError
from headrace.eventlog.kafka.clients import administrator, explained
from headrace.events.positions import MOST_PARTITIONS

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata

    from headrace.eventlog.kafka.settings import KafkaSettings

_PARTITION_BITS = 10
MOST_KAFKA_PARTITIONS = 1 << _PARTITION_BITS
_SEEN_SECONDS = 30.0
# Headrace removes drained records of the outbox itself and keeps the last one, which says what is covered. Where the
# log's topics are its own, it removes their events too.
_KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}


class Topic(NamedTuple):
    """A topic of the log; `namespace` is None where all namespaces share it."""

    name: str
    namespace: str | None


class Topics:
    """The topics of the log, by the settings alone."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.listed = tuple(_topic(each) for each in settings.topics)
        names = [topic.name for topic in self.listed]
        if len(set(names)) != len(names) or settings.outbox in names or not names:
            raise ConfigError(
                f"kafka.topics has {list(settings.topics)} and kafka.outbox {settings.outbox!r}; "
                "name at least one topic for the log, each once, and another one for the outbox"
            )
        if len(names) > MOST_PARTITIONS >> _PARTITION_BITS:
            raise ConfigError(
                f"kafka.topics lists {len(names)} topics; {MOST_PARTITIONS >> _PARTITION_BITS} fit"
            )
        self._numbers = {name: number for number, name in enumerate(names)}

    def partition(self, topic: str, kafka_partition: int) -> int:
        """Return the number in the log of a partition of a topic."""
        if kafka_partition >= MOST_KAFKA_PARTITIONS:
            raise ConfigError(
                f"topic {topic!r} has a partition {kafka_partition}; {MOST_KAFKA_PARTITIONS} can be read"
            )
        return self._numbers[topic] << _PARTITION_BITS | kafka_partition

    def kafka_partition(self, partition: int) -> tuple[Topic, int]:
        """Return the topic of a partition of the log, and its number in Kafka."""
        return self.listed[partition >> _PARTITION_BITS], partition & (MOST_KAFKA_PARTITIONS - 1)

    def of(self, namespace: str) -> Topic:
        """Return the topic for a namespace's events: its own, or else the first that is shared."""
        for topic in self.listed:
            if topic.namespace == namespace:
                return topic
        for topic in self.listed:
            if topic.namespace is None:
                return topic
        raise ConfigError(
            f"kafka.topics has no topic for namespace {namespace!r}; add {namespace}=TOPIC, or a shared one"
        )


def _topic(text: str) -> Topic:
    namespace, is_own, name = text.rpartition("=")
    return Topic(name, namespace if is_own else None)


def ensure_topics(settings: KafkaSettings) -> None:
    """Create the topics that don't exist; leave the others as they are."""
    names = [*(topic.name for topic in Topics(settings).listed), settings.outbox]
    client = administrator(settings)
    try:
        known = client.list_topics(timeout=settings.timeout_seconds).topics
        missing = [name for name in names if name not in known]
        wanted = [
            NewTopic(
                name,
                settings.partitions,
                settings.replicas,
                config=_KEPT if settings.owned or name == settings.outbox else {},
            )
            for name in missing
        ]
        made = client.create_topics(wanted) if wanted else {}
        for future in made.values():
            _await_creation(future)
        deadline = time.monotonic() + settings.timeout_seconds
        while (
            missing and not set(missing) <= client.list_topics(timeout=settings.timeout_seconds).topics.keys()
        ):
            if time.monotonic() > deadline:
                break
            time.sleep(0.05)
    except confluent_kafka.KafkaException as error:
        raise explained(error, settings) from error


def _await_creation(future: object) -> None:
    try:
        future.result()  # type: ignore[attr-defined]
    except confluent_kafka.KafkaException as error:
        if error.args[0].code() != confluent_kafka.KafkaError.TOPIC_ALREADY_EXISTS:
            raise


class LogPartitions:
    """The partitions of the log, listed again now and then, since some may be added."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topics = Topics(settings)
        self._client = administrator(settings)
        self._listed: list[int] = []
        self._seen = float("-inf")

    def listed(self) -> list[int]:
        """Return all partitions of the log."""
        if time.monotonic() - self._seen > _SEEN_SECONDS:
            self._listed = [
                self._topics.partition(topic.name, kafka_partition)
                for topic in self._topics.listed
                for kafka_partition in range(self._count(topic.name))
            ]
            self._seen = time.monotonic()
        return self._listed

    def _count(self, name: str) -> int:
        try:
            listed = self._client.list_topics(name, timeout=self._settings.timeout_seconds)
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error
        return count_partitions(listed, name, self._settings)


def count_partitions(listed: ClusterMetadata, name: str, settings: KafkaSettings) -> int:
    """Return how many partitions a topic has, by a broker's metadata."""
    topic = listed.topics[name]
    if topic.error is not None:  # a broker that has just come back may not know it yet
        raise BrokerUnavailable(settings.bootstrap, f"topic {name!r}: {topic.error.str()}")
    return len(topic.partitions)


def describe_brokers(settings: KafkaSettings) -> str:
    """Describe brokers and topics for a person. Raise BrokerUnavailable where none answers; create nothing."""
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
