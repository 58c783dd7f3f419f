"""Draining the outbox in Kafka: dispatchers share its partitions as a consumer group.

The ledger says how far each partition was drained; the group's committed offsets only say where to begin reading. When
the group changes, a dispatcher finishes what it has begun before it gives up its partitions, so that the next one
goes on there.
"""

from __future__ import annotations

import logging
import queue
import threading
from collections import defaultdict, deque
from functools import reduce
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
import pyarrow as pa
from confluent_kafka import TopicPartition

from headrace.eventlog.kafka.clients import administrator, consumer
from headrace.eventlog.kafka.outbox.writer import count_outbox_partitions, read_outbox_record
from headrace.eventlog.outbox_partitions import OutboxPartitions
from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.eventlog.kafka.settings import KafkaSettings

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_MOST_WAITING = 64


class _Range(NamedTuple):
    """The pairs of one routed range in one partition, and the offset behind its last record."""

    covered: LogPosition
    pairs: pa.Table
    offset: int


class Assignment(NamedTuple):
    """The partitions assigned to a member of the group, and the records of them that have been read."""

    partitions: OutboxPartitions
    records: queue.SimpleQueue[confluent_kafka.Message]


class OutboxGroup:
    """Membership in the group, maintained by a thread of its own, which also reads.

    `on_change` is called from that thread when partitions are assigned to this member, and when they are revoked: then
    `assignment` is empty, and the group waits until `release` is called, but no longer than `patience` seconds.
    """

    def __init__(self, settings: KafkaSettings, on_change: Callable[[], object], patience: float) -> None:
        self._settings = settings
        self._on_change = on_change
        self._patience = patience
        self._count = count_outbox_partitions(settings)
        self.assignment = Assignment(OutboxPartitions(frozenset(), self._count), queue.SimpleQueue())
        self._is_released = threading.Event()
        self._is_closing = threading.Event()
        self._is_paused = False
        self._offsets: queue.SimpleQueue[Mapping[int, int]] = queue.SimpleQueue()
        self._consumer = consumer(
            settings,
            **{
                "group.id": f"headrace-dispatchers-{settings.outbox}",
                "auto.offset.reset": "earliest",
                "session.timeout.ms": 10_000,
            },
        )
        self._administrator = administrator(settings)
        self._thread = threading.Thread(target=self._run, name="outbox-group", daemon=True)
        self._thread.start()

    def release(self) -> None:
        """Report that work on revoked partitions has ended."""
        self._is_released.set()

    def close(self) -> None:
        """Leave the group, without waiting for deliveries under way."""
        self._is_closing.set()
        self._is_released.set()
        self._thread.join()

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Have the group's thread commit these offsets soon, and remove the records before them.

        The record right before stays: the last one of all says what the outbox covers.
        """
        self._offsets.put(offsets)

    def _run(self) -> None:
        self._consumer.subscribe(
            [self._settings.outbox], on_assign=self._on_assign, on_revoke=self._on_revoke
        )
        while not self._is_closing.is_set():
            self._keep_bounded()
            self._commit()
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self.assignment.records.put(message)
            elif error.code() != error._PARTITION_EOF:  # noqa: SLF001
                _log.warning("can't read the outbox at the moment: %s", error.str())
        self._consumer.close()

    def _commit(self) -> None:
        offsets: dict[int, int] = {}
        while not self._offsets.empty():
            offsets |= self._offsets.get()
        own = self.assignment.partitions.own
        committed = [
            TopicPartition(self._settings.outbox, partition, offset)
            for partition, offset in offsets.items()
            if partition in own
        ]
        if committed:
            try:
                self._consumer.commit(offsets=committed, asynchronous=True)
                self._administrator.delete_records(
                    [TopicPartition(each.topic, each.partition, each.offset - 1) for each in committed]
                )
            except confluent_kafka.KafkaException as error:
                _log.debug("can't commit offsets, so a later start reads more than it has to: %s", error)

    def _keep_bounded(self) -> None:
        """Pause fetching while many records wait; membership goes on meanwhile."""
        waiting = self.assignment.records.qsize()
        if not self._is_paused and waiting >= _MOST_WAITING:
            self._consumer.pause(self._consumer.assignment())
            self._is_paused = True
        elif self._is_paused and waiting <= _MOST_WAITING // 2:
            self._consumer.resume(self._consumer.assignment())
            self._is_paused = False

    def _on_assign(self, _: object, assigned: list[TopicPartition]) -> None:
        own = frozenset(each.partition for each in assigned)
        self._assign(own)
        _log.info("this dispatcher has partitions %s of %d of the outbox", sorted(own), self._count)

    def _on_revoke(self, _: object, __: list[TopicPartition]) -> None:
        """Keep the partitions until what was begun is finished: only then may another member go on.

        Be careful: a partition that is revoked while it is paused would still be paused when it is assigned again.
        """
        if self._is_paused and not self._is_closing.is_set():
            self._consumer.resume(self._consumer.assignment())
        self._is_released.clear()
        self._assign(frozenset())
        if not self._is_closing.is_set() and not self._is_released.wait(self._patience):
            _log.warning(
                "partitions of the outbox are given up while deliveries are under way, which may be repeated"
            )

    def _assign(self, own: frozenset[int]) -> None:
        self.assignment = Assignment(OutboxPartitions(own, self._count), queue.SimpleQueue())
        self._is_paused = False
        self._on_change()


class KafkaOutboxReader:
    """Reads the partitions assigned to a member, joined range by range. For one thread.

    `cursors` says how far each partition is drained: what one has drained beyond the others isn't read again.
    """

    is_blocked = False

    def __init__(
        self, group: OutboxGroup, assignment: Assignment, cursors: Mapping[int, LogPosition]
    ) -> None:
        self._group = group
        self._records = assignment.records
        self._partitions = sorted(assignment.partitions.own)
        self._cursors = {partition: cursors.get(partition, LogPosition()) for partition in self._partitions}
        self._parts: defaultdict[int, list[pa.Table]] = defaultdict(list)
        self._ranges: dict[int, deque[_Range]] = {partition: deque() for partition in self._partitions}
        self._read: deque[tuple[LogPosition, dict[int, int]]] = deque()

    def covered(self) -> LogPosition:
        """Return the log position up to which the outbox was read."""
        return self._read[-1][0] if self._read else LogPosition()

    def read(self, start: LogPosition) -> Iterator[tuple[LogPosition, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start` and has arrived."""
        while not self._records.empty():
            self._take(self._records.get())
        while all(self._ranges.values()):
            covered, tables = self._next_range()
            if not covered <= start:
                yield covered, pa.concat_tables(tables).unify_dictionaries().sort_by("position")

    def size(self, start: LogPosition) -> int:
        """Return how many bytes wait here, without what waits in Kafka."""
        return sum(
            each.pairs.nbytes
            for ranges in self._ranges.values()
            for each in ranges
            if not each.covered <= start
        )

    def drop(self, before: LogPosition) -> int:
        """Commit what is drained, so that a later start begins behind it and the records are removed."""
        offsets: dict[int, int] = {}
        while self._read and self._read[0][0] <= before:
            offsets |= self._read.popleft()[1]
        self._group.commit(offsets)
        return 0

    def _take(self, message: confluent_kafka.Message) -> None:
        partition, record = message.partition(), read_outbox_record(message)
        self._parts[partition].append(record.pairs)
        if record.covered is not None:
            pairs = pa.concat_tables(self._parts.pop(partition)).unify_dictionaries()
            self._ranges[partition].append(_Range(record.covered, pairs, message.offset() + 1))

    def _next_range(self) -> tuple[LogPosition, list[pa.Table]]:
        """Take the earliest range from each partition that has it. Routing is sequential, so one is the earliest."""
        covered = reduce(LogPosition.meet, (ranges[0].covered for ranges in self._ranges.values()))
        tables, offsets = [], {}
        for partition, ranges in self._ranges.items():
            if ranges[0].covered == covered:
                found = ranges.popleft()
                offsets[partition] = found.offset
                is_drained = self._cursors[partition].are_behind(found.pairs["position"].to_numpy())
                tables.append(found.pairs.filter(pa.array(~is_drained)))
        self._read.append((covered, offsets))
        return covered, tables
