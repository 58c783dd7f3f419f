"""Draining the outbox in Kafka: dispatchers share its partitions as a consumer group.

The ledger says how far each share was drained; the group's committed offsets only say where to begin looking. When
the group changes, a dispatcher first finishes what it has begun and then lets go: whoever comes next goes on there.
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
from headrace.eventlog.kafka.outbox.writer import count_shares, read_outbox_record
from headrace.eventlog.shares import Shares
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.eventlog.kafka.settings import KafkaSettings

_log = logging.getLogger(__name__)

_POLL_SECONDS = 0.1
_MOST_WAITING = 64


class _Range(NamedTuple):
    """A share's pairs of one routed range, and the offset behind its last record."""

    covered: Cut
    pairs: pa.Table
    offset: int


class Holding(NamedTuple):
    """The shares that a member holds for a while, and the records of them that have been read."""

    shares: Shares
    records: queue.SimpleQueue[confluent_kafka.Message]


class OutboxGroup:
    """Membership in the group, kept by a thread of its own, which also reads.

    `on_change` is called from that thread when shares were given to this member, and when they are to be given up:
    then `holding` has none, and the group waits until `release` is called, but not longer than `patience` seconds.
    """

    def __init__(self, settings: KafkaSettings, on_change: Callable[[], object], patience: float) -> None:
        self._settings = settings
        self._on_change = on_change
        self._patience = patience
        self._count = count_shares(settings)
        self.holding = Holding(Shares(frozenset(), self._count), queue.SimpleQueue())
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
        """Say that nothing is done any more with shares that are to be given up."""
        self._is_released.set()

    def close(self) -> None:
        """Leave the group. Whoever does so with deliveries under way has given them up."""
        self._is_closing.set()
        self._is_released.set()
        self._thread.join()

    def commit(self, offsets: Mapping[int, int]) -> None:
        """Let a later member begin there, and remove what lies before; the group's own thread does it soon.

        The record right before stays: the last one of all says what the outbox covers.
        """
        self._offsets.put(offsets)

    def _run(self) -> None:
        self._consumer.subscribe([self._settings.outbox], on_assign=self._take, on_revoke=self._give_up)
        while not self._is_closing.is_set():
            self._keep_bounded()
            self._commit()
            message = self._consumer.poll(_POLL_SECONDS)
            if message is None:
                continue
            error = message.error()
            if error is None:
                self.holding.records.put(message)
            elif error.code() != error._PARTITION_EOF:  # noqa: SLF001
                _log.warning("the outbox can't be read at the moment: %s", error.str())
        self._consumer.close()

    def _commit(self) -> None:
        offsets: dict[int, int] = {}
        while not self._offsets.empty():
            offsets |= self._offsets.get()
        own = self.holding.shares.own
        places = [
            TopicPartition(self._settings.outbox, share, offset)
            for share, offset in offsets.items()
            if share in own
        ]
        if places:
            try:
                self._consumer.commit(offsets=places, asynchronous=True)
                self._administrator.delete_records(
                    [TopicPartition(place.topic, place.partition, place.offset - 1) for place in places]
                )
            except confluent_kafka.KafkaException as error:
                _log.debug("a later start looks further back than it has to: %s", error)

    def _keep_bounded(self) -> None:
        """Stop fetching while much waits to be delivered; membership goes on meanwhile."""
        waiting = self.holding.records.qsize()
        if not self._is_paused and waiting >= _MOST_WAITING:
            self._consumer.pause(self._consumer.assignment())
            self._is_paused = True
        elif self._is_paused and waiting <= _MOST_WAITING // 2:
            self._consumer.resume(self._consumer.assignment())
            self._is_paused = False

    def _take(self, _: object, places: list[TopicPartition]) -> None:
        self._hold(frozenset(place.partition for place in places))
        _log.info("this dispatcher has shares %s of %d", sorted(self.holding.shares.own), self._count)

    def _give_up(self, _: object, __: list[TopicPartition]) -> None:
        """Keep the shares until what was begun is finished: only then may another member go on.

        Be careful: a partition that is given up while it is paused would still be so when it is given back.
        """
        if self._is_paused and not self._is_closing.is_set():
            self._consumer.resume(self._consumer.assignment())
        self._is_released.clear()
        self._hold(frozenset())
        if not self._is_closing.is_set() and not self._is_released.wait(self._patience):
            _log.warning("shares are given up while deliveries are under way; those may be repeated")

    def _hold(self, own: frozenset[int]) -> None:
        self.holding = Holding(Shares(own, self._count), queue.SimpleQueue())
        self._is_paused = False
        self._on_change()


class KafkaOutboxReader:
    """The shares that a member holds for a while, joined range by range. For one thread.

    `cursors` says how far each share is drained: what one of them has drained beyond the others isn't read again.
    """

    is_held = False

    def __init__(self, group: OutboxGroup, holding: Holding, cursors: Mapping[int, Cut]) -> None:
        self._group = group
        self._records = holding.records
        self._shares = sorted(holding.shares.own)
        self._cursors = {share: cursors.get(share, Cut()) for share in self._shares}
        self._parts: defaultdict[int, list[pa.Table]] = defaultdict(list)
        self._ranges: dict[int, deque[_Range]] = {share: deque() for share in self._shares}
        self._read: deque[tuple[Cut, dict[int, int]]] = deque()

    def covered(self) -> Cut:
        """Return the cut before which all deliveries that were read are planned."""
        return self._read[-1][0] if self._read else Cut()

    def read(self, start: Cut) -> Iterator[tuple[Cut, pa.Table]]:
        """Yield (end, pairs) for what is planned behind `start` and has arrived."""
        while not self._records.empty():
            self._take(self._records.get())
        while all(self._ranges.values()):
            covered, tables = self._next_range()
            if not covered <= start:
                yield covered, pa.concat_tables(tables).unify_dictionaries().sort_by("position")

    def size(self, start: Cut) -> int:
        """Return how many bytes wait here; what waits in Kafka isn't told."""
        return sum(
            each.pairs.nbytes
            for ranges in self._ranges.values()
            for each in ranges
            if not each.covered <= start
        )

    def drop(self, before: Cut) -> int:
        """Let a later start begin behind what is drained, and Kafka remove that when it likes."""
        offsets: dict[int, int] = {}
        while self._read and self._read[0][0] <= before:
            offsets |= self._read.popleft()[1]
        self._group.commit(offsets)
        return 0

    def _take(self, message: confluent_kafka.Message) -> None:
        share, record = message.partition(), read_outbox_record(message)
        self._parts[share].append(record.pairs)
        if record.covered is not None:
            pairs = pa.concat_tables(self._parts.pop(share)).unify_dictionaries()
            self._ranges[share].append(_Range(record.covered, pairs, message.offset() + 1))

    def _next_range(self) -> tuple[Cut, list[pa.Table]]:
        """Take the earliest range from each share that has it. Routing is one sequence: one of them is the earliest."""
        covered = reduce(Cut.meet, (ranges[0].covered for ranges in self._ranges.values()))
        tables, offsets = [], {}
        for share, ranges in self._ranges.items():
            if ranges[0].covered == covered:
                found = ranges.popleft()
                offsets[share] = found.offset
                is_drained = self._cursors[share].are_behind(found.pairs["position"].to_numpy())
                tables.append(found.pairs.filter(pa.array(~is_drained)))
        self._read.append((covered, offsets))
        return covered, tables
