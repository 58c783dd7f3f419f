"""Reading the log in Kafka by position, from any process."""

from __future__ import annotations

import time
from collections import OrderedDict, deque
from typing import TYPE_CHECKING

import confluent_kafka
from confluent_kafka import TopicPartition

from headrace.errors import BrokerUnavailable, LogExpired
from headrace.eventlog.kafka.clients import consumer
from headrace.eventlog.kafka.columns import RecordColumns
from headrace.eventlog.kafka.offsets import Offsets
from headrace.eventlog.kafka.topics import LogPartitions, Topic, Topics
from headrace.events.positions import LogPosition, offset_of, partition_of, position_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.kafka.settings import KafkaSettings

_ROWS = 5000
_BYTES = 64 << 20
_BYTES_PER_EVENT = 1024
# Gaps of at most so many records are read and skipped, which is faster than a seek.
_MOST_SKIPPED = 10_000
# Consumers that keep their position, so that reading on needs no seek; more partitions take turns.
_MOST_CONSUMERS = 16


def skip(_: Damage) -> None:
    """Skip a record that is no event."""


class KafkaLogReader:
    """Any number of readers in any process; one instance is for one thread."""

    least_poll_seconds = 0.02  # each poll is a request to the brokers
    least_gap = 1000

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topics = Topics(settings)
        self._partitions = LogPartitions(settings)
        self._offsets = Offsets(settings)
        self._readers: OrderedDict[int, _PartitionReader] = OrderedDict()

    def start(self) -> LogPosition:
        """Return the log position before which nothing is kept any more."""
        return self._log_position(self._offsets.starts)

    def end(self) -> LogPosition:
        """Return the log position behind the last committed event of each partition."""
        return self._log_position(self._offsets.ends)

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = skip
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) of one partition in order.

        Records that are no events, whoever wrote them, are reported to `on_damage` and skipped. They were never
        acknowledged as events, so skipping them is no error by itself.
        """
        partition = partition_of(start)
        waiting: list[confluent_kafka.Message] = []
        weight = 0
        for messages in self._reader_of(partition).read(offset_of(start), offset_of(end)):
            waiting += messages
            weight += sum(map(len, messages))
            if len(waiting) >= _ROWS or weight >= _BYTES:
                yield from self._laid_out(partition, waiting, on_damage)
                waiting, weight = [], 0
        yield from self._laid_out(partition, waiting, on_damage)

    def reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return the end of a range of about `most_bytes`; Kafka doesn't tell sizes without reading."""
        return min(end, start + max(1, most_bytes // _BYTES_PER_EVENT))

    def size(self, start: int, end: int) -> int:
        """Return very roughly how many bytes the log takes for positions [start, end)."""
        return (end - start) * _BYTES_PER_EVENT

    def close(self) -> None:
        """Close the connections."""
        while self._readers:
            self._readers.popitem()[1].close()

    def _log_position(self, ask: Callable[[list[TopicPartition]], list[int]]) -> LogPosition:
        partitions = self._partitions.listed()
        offsets = zip(partitions, ask([self._topic_partition(each) for each in partitions]), strict=True)
        return LogPosition({partition: position_at(partition, offset) for partition, offset in offsets})

    def _topic_partition(self, partition: int) -> TopicPartition:
        topic, kafka_partition = self._topics.kafka_partition(partition)
        return TopicPartition(topic.name, kafka_partition)

    def _reader_of(self, partition: int) -> _PartitionReader:
        if partition not in self._readers:
            if len(self._readers) == _MOST_CONSUMERS:
                self._readers.popitem(last=False)[1].close()
            self._readers[partition] = _PartitionReader(
                self._settings, *self._topics.kafka_partition(partition)
            )
        self._readers.move_to_end(partition)
        return self._readers[partition]

    def _laid_out(
        self, partition: int, messages: list[confluent_kafka.Message], on_damage: Callable[[Damage], None]
    ) -> Iterator[pa.RecordBatch]:
        first = position_at(partition, 0)
        records = (
            (first + each.offset(), each.timestamp()[1], each.headers(), each.value()) for each in messages
        )
        batch = self._reader_of(partition).columns.batch(records, on_damage)
        if batch.num_rows:
            yield batch


class _PartitionReader:
    """The consumer of one partition, which stays where the last read ended."""

    def __init__(self, settings: KafkaSettings, topic: Topic, kafka_partition: int) -> None:
        self._settings = settings
        self._topic_partition = (topic.name, kafka_partition)
        self._consumer = consumer(settings)
        self._next = -1
        self._held: deque[confluent_kafka.Message] = deque()
        self.columns = RecordColumns(topic, kafka_partition)

    def read(self, start: int, end: int) -> Iterator[list[confluent_kafka.Message]]:
        """Yield the records of offsets [start, end). Aborted records and transaction markers take offsets too.

        A short gap, which another process has read, is skipped by reading: it has been fetched already, and a seek
        waits for the fetch that is under way.
        """
        if self._next < 0 or not self._next <= start <= self._next + _MOST_SKIPPED:
            self._begin(start)
        deadline = time.monotonic() + self._settings.timeout_seconds
        while (reached := self._next) < end:
            if not self._held:
                self._held.extend(self._fetched(end - reached))
            messages = self._take(start, end)
            if messages:
                yield messages
            if self._next > reached:
                deadline = time.monotonic() + self._settings.timeout_seconds
            elif time.monotonic() > deadline:
                self._next = -1  # the next read starts with a seek
                raise BrokerUnavailable(
                    self._settings.bootstrap, f"no answer while reading {self._topic_partition}"
                )

    def _begin(self, start: int) -> None:
        self._consumer.assign([TopicPartition(*self._topic_partition, start)])
        self._next = start
        self._held.clear()

    def _fetched(self, most: int) -> list[confluent_kafka.Message]:
        """Return what has been fetched, or wait for one record: `consume` alone waits until it has all."""
        messages: list[confluent_kafka.Message] = self._consumer.consume(min(most, _ROWS), 0)
        if messages:
            return messages
        message = self._consumer.poll(0.1)
        return [] if message is None else [message]

    def _take(self, start: int, end: int) -> list[confluent_kafka.Message]:
        """Take the fetched records from `start` to `end`; the rest is for the next read."""
        taken: list[confluent_kafka.Message] = []
        while self._held and self._next < end:
            message = self._held[0]
            error = message.error()
            if error is None and message.offset() >= end:
                self._next = end
                break
            self._held.popleft()
            if error is not None:
                self._handle(error, message, start)
                continue
            if message.offset() < self._next:
                continue  # fetched again: a client that reconnects may go back a little
            self._next = message.offset() + 1
            if self._next > start:
                taken.append(message)
        return taken

    def _handle(
        self, error: confluent_kafka.KafkaError, message: confluent_kafka.Message, start: int
    ) -> None:
        """Advance to the end of a partition, or begin behind removed records; raise any other error."""
        if error.code() == error._PARTITION_EOF:  # noqa: SLF001
            self._next = max(self._next, message.offset())
            return
        reached, self._next = self._next, -1
        self._held.clear()
        if error.code() not in (error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
            raise BrokerUnavailable(self._settings.bootstrap, error.str())
        if reached >= start:
            topic, kafka_partition = self._topic_partition
            raise LogExpired(
                f"offset {reached} of partition {kafka_partition} of topic {topic!r}", error.str()
            )
        self._begin(start)  # what was to be skipped is gone

    def close(self) -> None:
        self._consumer.close()
