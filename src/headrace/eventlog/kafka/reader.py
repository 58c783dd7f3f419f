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
from headrace.eventlog.kafka.topics import Partitions, Topic, Topics
from headrace.events.positions import Cut, lane_of, offset_of, position_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.kafka.settings import KafkaSettings

_ROWS = 5000
_BYTES = 64 << 20
_BYTES_PER_EVENT = 1024
# Records that are passed over rather than beginning anew behind them.
_PASSED_OVER = 10_000
# Consumers that stay where they are, so that reading on needs no seek; more lanes take turns.
_MOST_CONSUMERS = 16


def leave_out(_: Damage) -> None:
    """Go on behind a record that is no event."""


class KafkaLogReader:
    """Any number of readers in any process; one instance is for one thread."""

    least_poll_seconds = 0.02  # a question to the brokers each time
    least_gap = 1000

    def __init__(self, settings: KafkaSettings) -> None:
        self._settings = settings
        self._topics = Topics(settings)
        self._partitions = Partitions(settings)
        self._offsets = Offsets(settings)
        self._lanes: OrderedDict[int, _Lane] = OrderedDict()

    def start(self) -> Cut:
        """Return the cut before which nothing is kept any more."""
        return self._cut(self._offsets.starts)

    def end(self) -> Cut:
        """Return the cut behind the last committed event of each lane."""
        return self._cut(self._offsets.ends)

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = leave_out
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) of one lane in order.

        Records that are no events, whoever wrote them, are told to `on_damage` and left out. Nobody was told that
        they are stored, so that leaving them out is no error by itself.
        """
        lane = lane_of(start)
        waiting: list[confluent_kafka.Message] = []
        weight = 0
        for messages in self._lane(lane).read(offset_of(start), offset_of(end)):
            waiting += messages
            weight += sum(map(len, messages))
            if len(waiting) >= _ROWS or weight >= _BYTES:
                yield from self._laid_out(lane, waiting, on_damage)
                waiting, weight = [], 0
        yield from self._laid_out(lane, waiting, on_damage)

    def reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return where a range ends that holds about so many bytes; Kafka doesn't tell without reading."""
        return min(end, start + max(1, most_bytes // _BYTES_PER_EVENT))

    def size(self, start: int, end: int) -> int:
        """Return very roughly how many bytes the log takes for positions [start, end)."""
        return (end - start) * _BYTES_PER_EVENT

    def close(self) -> None:
        """Let go of the connections."""
        while self._lanes:
            self._lanes.popitem()[1].close()

    def _cut(self, ask: Callable[[list[TopicPartition]], list[int]]) -> Cut:
        lanes = self._partitions.lanes()
        offsets = zip(lanes, ask([self._place(lane) for lane in lanes]), strict=True)
        return Cut({lane: position_at(lane, offset) for lane, offset in offsets})

    def _place(self, lane: int) -> TopicPartition:
        topic, partition = self._topics.partition(lane)
        return TopicPartition(topic.name, partition)

    def _lane(self, lane: int) -> _Lane:
        if lane not in self._lanes:
            if len(self._lanes) == _MOST_CONSUMERS:
                self._lanes.popitem(last=False)[1].close()
            self._lanes[lane] = _Lane(self._settings, *self._topics.partition(lane))
        self._lanes.move_to_end(lane)
        return self._lanes[lane]

    def _laid_out(
        self, lane: int, messages: list[confluent_kafka.Message], on_damage: Callable[[Damage], None]
    ) -> Iterator[pa.RecordBatch]:
        first = position_at(lane, 0)
        records = (
            (first + each.offset(), each.timestamp()[1], each.headers(), each.value()) for each in messages
        )
        batch = self._lane(lane).columns.batch(records, on_damage)
        if batch.num_rows:
            yield batch


class _Lane:
    """One partition's consumer, which stays where the last reading ended."""

    def __init__(self, settings: KafkaSettings, topic: Topic, partition: int) -> None:
        self._settings = settings
        self._place = (topic.name, partition)
        self._consumer = consumer(settings)
        self._next = -1
        self._held: deque[confluent_kafka.Message] = deque()
        self.columns = RecordColumns(topic, partition)

    def read(self, start: int, end: int) -> Iterator[list[confluent_kafka.Message]]:
        """Yield the records of offsets [start, end). Offsets of aborted transactions and their marks have none.

        Where another process read a little meanwhile, it is passed over: it has been fetched already, and beginning
        anew waits for the fetch that is under way.
        """
        if self._next < 0 or not self._next <= start <= self._next + _PASSED_OVER:
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
                self._next = -1  # who asks again begins anew
                raise BrokerUnavailable(self._settings.bootstrap, f"no answer while reading {self._place}")

    def _begin(self, start: int) -> None:
        self._consumer.assign([TopicPartition(*self._place, start)])
        self._next = start
        self._held.clear()

    def _fetched(self, most: int) -> list[confluent_kafka.Message]:
        """Return what is here already, or wait for the next one: `consume` by itself waits until it has all."""
        messages: list[confluent_kafka.Message] = self._consumer.consume(min(most, _ROWS), 0)
        if messages:
            return messages
        message = self._consumer.poll(0.1)
        return [] if message is None else [message]

    def _take(self, start: int, end: int) -> list[confluent_kafka.Message]:
        """Take from what was fetched, from the start to the end; the rest is for the next reading."""
        taken: list[confluent_kafka.Message] = []
        while self._held and self._next < end:
            message = self._held[0]
            error = message.error()
            if error is None and message.offset() >= end:
                self._next = end
                break
            self._held.popleft()
            if error is not None:
                self._pass(error, message, start)
                continue
            if message.offset() < self._next:
                continue  # fetched again: a client that finds its place anew may go back a little
            self._next = message.offset() + 1
            if self._next > start:
                taken.append(message)
        return taken

    def _pass(self, error: confluent_kafka.KafkaError, message: confluent_kafka.Message, start: int) -> None:
        """Go on behind the end of a partition, where nothing has a record; raise what else there is."""
        if error.code() == error._PARTITION_EOF:  # noqa: SLF001
            self._next = max(self._next, message.offset())
            return
        reached, self._next = self._next, -1
        self._held.clear()
        if error.code() not in (error._AUTO_OFFSET_RESET, error.OFFSET_OUT_OF_RANGE):  # noqa: SLF001
            raise BrokerUnavailable(self._settings.bootstrap, error.str())
        if reached >= start:
            topic, partition = self._place
            raise LogExpired(f"offset {reached} of partition {partition} of topic {topic!r}", error.str())
        self._begin(start)  # what was to be passed over is gone

    def close(self) -> None:
        self._consumer.close()
