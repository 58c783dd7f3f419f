"""The outbox as a Kafka topic: a routed range is one transaction, with a record for each partition of the topic.

The last committed record says how far routing got, and who routes. A driver that was replaced can't commit any more:
transactions are fenced by their name. A record carries the log position that its range reaches, how many deliveries
were planned up to there, and the partition's pairs as Arrow. Pairs that are too many for one record are split, and only
the last record says that the range is complete.
"""

from __future__ import annotations

import time
import uuid
from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
import numpy as np
import pyarrow as pa

from headrace.errors import BrokerUnavailable, LogLocked, LogUnavailable, OutboxGap
from headrace.eventlog.kafka.clients import administrator, explained
from headrace.eventlog.kafka.last_record import LastRecord
from headrace.eventlog.kafka.topics import count_partitions
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.outbox_partitions import OutboxPartitions
from headrace.eventlog.pairs import NO_PAIRS, decode_pairs, encode_pairs
from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.eventlog.kafka.settings import KafkaSettings

_COVERED, _DRIVER, _PLANNED = "headrace-covered", "headrace-driver", "headrace-planned"
# A pair takes about 50 bytes before compression, and a broker accepts records of 1 MB.
_PAIRS_PER_RECORD = 15_000
# Only the next driver waits for one that died, and ends what it left open; and very many pairs take long.
_LONGEST_SECONDS = 60.0


class KafkaOutboxWriter:
    """The one writer of the outbox; a second one fences the first off, and writes a record that says so.

    Partitions of the log of which nothing has been planned yet begin at `begin`.
    """

    def __init__(self, settings: KafkaSettings, begin: LogPosition | None = None) -> None:
        self._settings = settings
        self._name = uuid.uuid4().hex
        self._partitions = count_outbox_partitions(settings)
        longest = max(_LONGEST_SECONDS, settings.timeout_seconds)
        self._transactions = Transactions(settings, f"headrace-route-{settings.outbox}", longest)
        self._covered = LogPosition()
        self._planned = 0
        self._is_sure = False
        self._recover()
        # Even if the log begins later by now: what is between was never planned, and has to be reported.
        self._covered = LogPosition({**(begin or {}), **self._covered})
        self._take_over()

    def covered(self) -> LogPosition:
        """Return the log position before which all deliveries are planned, as far as is known here."""
        return self._covered

    def write(self, start: LogPosition, end: LogPosition, pairs: pa.Table) -> int:
        """Plan the deliveries of the events from `start` to `end`, and return how many were new."""
        if not self._is_sure:
            self._check_driver()
            self._recover()
        if not start <= self._covered:
            raise OutboxGap(self._covered, start)
        if end <= self._covered:
            return 0
        is_planned = self._covered.are_behind(pairs["position"].to_numpy())
        fresh = pairs.filter(pa.array(~is_planned)).sort_by("position")
        reached = self._covered.join(end)
        self._is_sure = False
        self._commit(fresh, reached)
        self._covered, self._planned, self._is_sure = reached, self._planned + fresh.num_rows, True
        return int(fresh.num_rows)

    def refresh(self) -> str | None:
        """Return None: brokers keep what was committed."""
        return None

    def close(self) -> None:
        """Do nothing: connections end with the process."""

    def _commit(self, pairs: pa.Table, reached: LogPosition) -> None:
        try:
            with self._transactions.transaction() as producer:
                planned = self._planned + pairs.num_rows
                for partition, part in enumerate(_split(pairs, self._partitions)):
                    self._produce(producer, partition, part, reached, planned)
        except LogLocked as error:
            self._check_driver()
            problem = "the brokers have ended a transaction that took too long"
            raise LogUnavailable(problem, is_certain=False) from error

    def _take_over(self) -> None:
        """Write a record that names this driver, and wait until it can be read."""
        with closing(Coverage(self._settings)) as coverage:
            before = coverage.driver()
            with self._transactions.transaction() as producer:
                self._produce(producer, 0, NO_PAIRS, self._covered, self._planned)
            deadline = time.monotonic() + self._settings.timeout_seconds
            while (driver := coverage.driver()) != self._name:
                if driver != before:
                    raise self._replaced()
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(
                        self._settings.bootstrap, "a committed record can't be read in time"
                    )

    def _check_driver(self) -> None:
        """Raise LogLocked where another driver routes; brokers fence off a driver whose transaction timed out, too."""
        with closing(Coverage(self._settings)) as coverage:
            if coverage.driver() != self._name:
                raise self._replaced()

    def _replaced(self) -> LogLocked:
        return LogLocked(f"the outbox {self._settings.outbox}", "a driver that began later")

    def _recover(self) -> None:
        """End what was left open, and read what was committed last.

        A transaction that failed may be committed all the same, and a second one of its range would double the
        deliveries: nothing is written before this has succeeded. A broker acknowledges a commit before readers see it,
        but a new writer of the name only when they do.
        """
        self._transactions.begin()
        with closing(Coverage(self._settings)) as coverage:
            self._covered = self._covered.join(coverage.position())
            self._planned = coverage.planned()
        self._is_sure = True

    def _produce(
        self,
        producer: confluent_kafka.Producer,
        partition: int,
        pairs: pa.Table,
        reached: LogPosition,
        planned: int,
    ) -> None:
        parts = range(0, max(pairs.num_rows, 1), _PAIRS_PER_RECORD)
        headers = [
            (_COVERED, reached.to_json().encode()),
            (_DRIVER, self._name.encode()),
            (_PLANNED, str(planned).encode()),
        ]
        for part in parts:
            producer.produce(
                self._settings.outbox,
                bytes(encode_pairs(pairs.slice(part, _PAIRS_PER_RECORD), as_file=False)),
                partition=partition,
                headers=headers if part == parts[-1] else [],
            )


class OutboxRecord(NamedTuple):
    """A record of the outbox; `covered` is None where the range continues in the next one.

    `planned` counts the deliveries since the outbox was created, including those of this range.
    """

    covered: LogPosition | None
    pairs: pa.Table
    driver: str
    planned: int


def read_outbox_record(message: confluent_kafka.Message) -> OutboxRecord:
    """Decode a record."""
    headers = dict(message.headers() or ())
    covered = LogPosition.from_json(headers[_COVERED]) if _COVERED in headers else None
    driver = headers.get(_DRIVER, b"").decode()
    planned = int(headers.get(_PLANNED, 0))
    return OutboxRecord(covered, decode_pairs(message.value()), driver, planned)


class Coverage:
    """What the outbox covers, by the last committed record of its first partition, which has one for every range."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._tail = LastRecord(settings, settings.outbox, 0)

    def position(self) -> LogPosition:
        """Return the log position before which all deliveries are planned."""
        record = self._last()
        return record.covered or LogPosition() if record else LogPosition()

    def planned(self) -> int:
        """Return how many deliveries were planned since the outbox was created."""
        record = self._last()
        return record.planned if record else 0

    def driver(self) -> str:
        """Return the name of the driver that wrote last."""
        record = self._last()
        return record.driver if record else ""

    def close(self) -> None:
        """Close the connection."""
        self._tail.close()

    def _last(self) -> OutboxRecord | None:
        message = self._tail.last()
        return None if message is None else read_outbox_record(message)


def count_outbox_partitions(settings: KafkaSettings) -> int:
    """Return how many partitions the outbox has."""
    try:
        listed = administrator(settings).list_topics(settings.outbox, timeout=settings.timeout_seconds)
    except confluent_kafka.KafkaException as error:
        raise explained(error, settings) from error
    return count_partitions(listed, settings.outbox, settings)


def _split(pairs: pa.Table, count: int) -> Iterator[pa.Table]:
    partitions = OutboxPartitions(frozenset(), count)
    ids = pa.chunked_array(pairs["subscription"].chunks, pa.string()).combine_chunks().dictionary_encode()
    owners = np.array([partitions.of(each) for each in ids.dictionary.to_pylist()], np.int64)
    numbers = ids.indices.to_numpy()
    partition = owners[numbers] if len(numbers) else np.zeros(0, np.int64)
    for number in range(count):
        yield pairs.filter(pa.array(partition == number))
