"""Which lane is which partition of which topic, and whose events a topic holds.

A lane's number is the topic's place in the setting, and the partition within it. So topics may be added at the end
of the list, and partitions to a topic; to remove a topic or to change their order would give positions another
meaning.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
from confluent_kafka.admin import NewTopic

from headrace.errors import BrokerUnavailable, ConfigError
from headrace.eventlog.kafka.clients import administrator, explained
from headrace.events.positions import MOST_LANES

if TYPE_CHECKING:
    from confluent_kafka.admin import ClusterMetadata

    from headrace.eventlog.kafka.settings import KafkaSettings

_PARTITION_BITS = 10
MOST_PARTITIONS = 1 << _PARTITION_BITS
_SEEN_SECONDS = 30.0
# Who drains the outbox removes what is drained. Its last record says what is covered, however long ago that was. And
# where the log's topics are Headrace's own, it removes what nobody needs.
_KEPT = {"retention.ms": "-1", "retention.bytes": "-1"}


class Topic(NamedTuple):
    """A topic of the log; `namespace` is None where all share it."""

    name: str
    namespace: str | None


class Topics:
    """The topics of the log, by their settings. Knows nothing of the brokers."""

    def __init__(self, settings: KafkaSettings) -> None:
        self.listed = tuple(_topic(each) for each in settings.topics)
        names = [topic.name for topic in self.listed]
        if len(set(names)) != len(names) or settings.outbox in names or not names:
            raise ConfigError(
                f"kafka.topics has {list(settings.topics)} and kafka.outbox {settings.outbox!r}; "
                "name one topic of the log at least, each once, and another one for the outbox"
            )
        if len(names) > MOST_LANES >> _PARTITION_BITS:
            raise ConfigError(f"kafka.topics lists {len(names)} topics; {MOST_LANES >> _PARTITION_BITS} fit")
        self._numbers = {name: number for number, name in enumerate(names)}

    def lane(self, topic: str, partition: int) -> int:
        """Return the lane of a partition."""
        if partition >= MOST_PARTITIONS:
            raise ConfigError(f"topic {topic!r} has a partition {partition}; {MOST_PARTITIONS} can be read")
        return self._numbers[topic] << _PARTITION_BITS | partition

    def partition(self, lane: int) -> tuple[Topic, int]:
        """Return which partition of which topic a lane is."""
        return self.listed[lane >> _PARTITION_BITS], lane & (MOST_PARTITIONS - 1)

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
    """Make the topics that don't exist; leave those that do as they are."""
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


class Partitions:
    """How many partitions the topics have now, asked again now and then: somebody may add some."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topics = Topics(settings)
        self._client = administrator(settings)
        self._lanes: list[int] = []
        self._seen = float("-inf")

    def lanes(self) -> list[int]:
        """Return all lanes of the log."""
        if time.monotonic() - self._seen > _SEEN_SECONDS:
            self._lanes = [
                self._topics.lane(topic.name, partition)
                for topic in self._topics.listed
                for partition in range(self._count(topic.name))
            ]
            self._seen = time.monotonic()
        return self._lanes

    def _count(self, name: str) -> int:
        try:
            listed = self._client.list_topics(name, timeout=self._settings.timeout_seconds)
        except confluent_kafka.KafkaException as error:
            raise explained(error, self._settings) from error
        return count_partitions(listed, name, self._settings)


def count_partitions(listed: ClusterMetadata, name: str, settings: KafkaSettings) -> int:
    """Return how many partitions a topic has, by what a broker told of it."""
    topic = listed.topics[name]
    if topic.error is not None:  # a broker that has just come back may not know it yet
        raise BrokerUnavailable(settings.bootstrap, f"topic {name!r}: {topic.error.str()}")
    return len(topic.partitions)
