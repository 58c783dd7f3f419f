"""The outbox as a Kafka topic: a routed range is one transaction, with a record for each partition.

What was committed last says how far routing got, and who routes. A driver that comes back from the dead can't commit
any more: the transactions are fenced by their name. A record carries the cut that its range reaches, how many
deliveries were planned up to there, and its share of the pairs as Arrow; a share that is too large for one record is
cut, and only its last part says that the range is complete.
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
from headrace.eventlog.kafka.tail import Tail
from headrace.eventlog.kafka.topics import count_partitions
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.shares import Shares
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.eventlog.kafka.settings import KafkaSettings

_COVERED, _DRIVER, _PLANNED = "headrace-covered", "headrace-driver", "headrace-planned"
# A pair takes about 50 bytes before it is compressed, and a broker takes records of 1 MB.
_PAIRS_PER_RECORD = 15_000
# Nobody waits for a driver that died but the next one, which settles what it left; and very many pairs take long.
_LONGEST_SECONDS = 60.0
_NO_PAIRS = pa.table({"position": pa.array([], pa.int64()), "subscription": pa.array([], pa.string())})


class KafkaOutboxWriter:
    """The one writer of the outbox; a second one fences the first off, and leaves a record that says so.

    Lanes of which nothing has been planned yet begin at `begin`.
    """

    def __init__(self, settings: KafkaSettings, begin: Cut | None = None) -> None:
        self._settings = settings
        self._name = uuid.uuid4().hex
        self._shares = count_shares(settings)
        longest = max(_LONGEST_SECONDS, settings.timeout_seconds)
        self._transactions = Transactions(settings, f"headrace-route-{settings.outbox}", longest)
        self._covered = Cut()
        self._planned = 0
        self._is_sure = False
        self._recover()
        # Also where the log begins later by now: what lies between was never planned, and has to be told.
        self._covered = Cut({**(begin or {}), **self._covered})
        self._take_place()

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned, as far as is known here."""
        return self._covered

    def write(self, start: Cut, end: Cut, pairs: pa.Table) -> int:
        """Plan the deliveries of what lies between the cuts, and return how many were new."""
        if not self._is_sure:
            self._check_place()
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

    def look_again(self) -> str | None:
        """Nothing: brokers keep what was committed."""
        return None

    def close(self) -> None:
        """Let go of it."""

    def _commit(self, pairs: pa.Table, reached: Cut) -> None:
        try:
            with self._transactions.transaction() as producer:
                planned = self._planned + pairs.num_rows
                for share, part in enumerate(_deal(pairs, self._shares)):
                    self._produce(producer, share, part, reached, planned)
        except LogLocked as error:
            self._check_place()
            problem = "the brokers have ended a transaction that took too long"
            raise LogUnavailable(problem, is_certain=False) from error

    def _take_place(self) -> None:
        """Say who routes from here on, and wait until that can be read."""
        with closing(Coverage(self._settings)) as coverage:
            before = coverage.driver()
            with self._transactions.transaction() as producer:
                self._produce(producer, 0, _NO_PAIRS, self._covered, self._planned)
            deadline = time.monotonic() + self._settings.timeout_seconds
            while (driver := coverage.driver()) != self._name:
                if driver != before:
                    raise self._replaced()
                if time.monotonic() > deadline:
                    raise BrokerUnavailable(self._settings.bootstrap, "what was committed isn't seen in time")

    def _check_place(self) -> None:
        """Raise LogLocked where another driver routes; brokers fence off a driver that stood still as well."""
        with closing(Coverage(self._settings)) as coverage:
            if coverage.driver() != self._name:
                raise self._replaced()

    def _replaced(self) -> LogLocked:
        return LogLocked(f"the outbox {self._settings.outbox}", "a driver that began later")

    def _recover(self) -> None:
        """Settle what was left open, and read what was committed last.

        A transaction that failed may be committed all the same, and another one of its range would double the
        deliveries: nothing is written before this has succeeded. A broker answers a commit before readers see it,
        but a new writer of the name only when they do.
        """
        self._transactions.begin()
        with closing(Coverage(self._settings)) as coverage:
            self._covered = self._covered.join(coverage.cut())
            self._planned = coverage.planned()
        self._is_sure = True

    def _produce(
        self, producer: confluent_kafka.Producer, share: int, pairs: pa.Table, reached: Cut, planned: int
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
                _encode(pairs.slice(part, _PAIRS_PER_RECORD)),
                partition=share,
                headers=headers if part == parts[-1] else [],
            )


class Record(NamedTuple):
    """A record of the outbox; `covered` is None where the range goes on in the next one.

    `planned` deliveries were planned since the outbox was made, those of this range included.
    """

    covered: Cut | None
    pairs: pa.Table
    driver: str
    planned: int


def read_outbox_record(message: confluent_kafka.Message) -> Record:
    """Decode a record."""
    headers = dict(message.headers() or ())
    covered = Cut.from_json(headers[_COVERED]) if _COVERED in headers else None
    driver = headers.get(_DRIVER, b"").decode()
    planned = int(headers.get(_PLANNED, 0))
    return Record(covered, pa.ipc.open_stream(message.value()).read_all(), driver, planned)


class Coverage:
    """What the outbox covers, by its last committed record; every range has one in the first partition."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._tail = Tail(settings, settings.outbox, 0)

    def cut(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        record = self._last()
        return record.covered or Cut() if record else Cut()

    def planned(self) -> int:
        """Return how many deliveries were planned since the outbox was made."""
        record = self._last()
        return record.planned if record else 0

    def driver(self) -> str:
        """Return the name of the driver that wrote last."""
        record = self._last()
        return record.driver if record else ""

    def close(self) -> None:
        """Let go of the connection."""
        self._tail.close()

    def _last(self) -> Record | None:
        message = self._tail.last()
        return None if message is None else read_outbox_record(message)


def count_shares(settings: KafkaSettings) -> int:
    """Return how many partitions the outbox has."""
    try:
        listed = administrator(settings).list_topics(settings.outbox, timeout=settings.timeout_seconds)
    except confluent_kafka.KafkaException as error:
        raise explained(error, settings) from error
    return count_partitions(listed, settings.outbox, settings)


def _deal(pairs: pa.Table, count: int) -> Iterator[pa.Table]:
    shares = Shares(frozenset(), count)
    ids = pa.chunked_array(pairs["subscription"].chunks, pa.string()).combine_chunks().dictionary_encode()
    owners = np.array([shares.of(each) for each in ids.dictionary.to_pylist()], np.int64)
    numbers = ids.indices.to_numpy()
    share = owners[numbers] if len(numbers) else np.zeros(0, np.int64)
    for number in range(count):
        yield pairs.filter(pa.array(share == number))


def _encode(pairs: pa.Table) -> bytes:
    """A subscription id stands in a record once, however many events it gets."""
    compact = pa.table(
        {"position": pairs["position"], "subscription": pairs["subscription"].dictionary_encode()}
    ).combine_chunks()
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, compact.schema) as writer:
        writer.write_table(compact)
    return bytes(memoryview(sink.getvalue()))
