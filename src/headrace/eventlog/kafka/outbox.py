"""The outbox as a Kafka topic: a routed range is one transaction, with a record for each partition.

What was committed last says how far routing got. A driver that comes back from the dead can't commit any more: the
transactions are fenced by their name. A record carries the cuts of its range, and its partition's share of the pairs
as Arrow; a share that is too large for one record is cut, and only its last part says that the range is complete.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, NamedTuple

import confluent_kafka
import numpy as np
import pyarrow as pa

from headrace.errors import LogLocked, OutboxGap
from headrace.eventlog.kafka.clients import administrator, explained
from headrace.eventlog.kafka.tail import Tail
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.shares import Shares
from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.eventlog.kafka.settings import KafkaSettings

_COVERED = "headrace-covered"
# A pair takes about 50 bytes before it is compressed, and a broker takes records of 1 MB.
_PAIRS_PER_RECORD = 15_000


class KafkaOutboxWriter:
    """The one writer of the outbox; a second one fences the first off."""

    def __init__(self, settings: KafkaSettings, begin: Cut | None = None) -> None:
        self._settings = settings
        self._shares = count_shares(settings)
        self._transactions = Transactions(settings, f"headrace-route-{settings.outbox}")
        self._begin = begin or Cut()
        self._covered = self._recover()

    def covered(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        return self._covered

    def write(self, start: Cut, end: Cut, pairs: pa.Table) -> int:
        """Plan the deliveries of what lies between the cuts, and return how many were new."""
        if not start <= self._covered:
            raise OutboxGap(self._covered, start)
        if end <= self._covered:
            return 0
        is_planned = self._covered.are_behind(pairs["position"].to_numpy())
        fresh = pairs.filter(pa.array(~is_planned)).sort_by("position")
        reached = self._covered.join(end)
        try:
            with self._transactions.transaction() as producer:
                for share, part in enumerate(_deal(fresh, self._shares)):
                    self._produce(producer, share, part, reached)
        except LogLocked:
            raise
        except BaseException:
            # It may be committed all the same; another one of its range would double the deliveries. What was
            # committed just before may not be seen yet, but is known here.
            self._covered = self._covered.join(self._recover())
            raise
        self._covered = reached
        return int(fresh.num_rows)

    def close(self) -> None:
        """Let go of it."""

    def _recover(self) -> Cut:
        """Settle what was left open, and read what was committed last.

        A broker answers a commit before readers see it, but a new writer of the name only when they do.
        """
        self._transactions.begin()
        with closing(Coverage(self._settings)) as coverage:
            return coverage.cut().join(self._begin)

    def _produce(self, producer: confluent_kafka.Producer, share: int, pairs: pa.Table, reached: Cut) -> None:
        parts = range(0, max(pairs.num_rows, 1), _PAIRS_PER_RECORD)
        for part in parts:
            complete = part == parts[-1]
            producer.produce(
                self._settings.outbox,
                _encode(pairs.slice(part, _PAIRS_PER_RECORD)),
                partition=share,
                headers=[(_COVERED, reached.to_json().encode())] if complete else [],
            )


class Record(NamedTuple):
    """A record of the outbox; `covered` is None where the range goes on in the next one."""

    covered: Cut | None
    pairs: pa.Table


def read_outbox_record(message: confluent_kafka.Message) -> Record:
    """Decode a record."""
    headers = dict(message.headers() or ())
    covered = Cut.from_json(headers[_COVERED]) if _COVERED in headers else None
    return Record(covered, pa.ipc.open_stream(message.value()).read_all())


class Coverage:
    """What the outbox covers, by its last committed record; every range has one in the first partition."""

    def __init__(self, settings: KafkaSettings) -> None:
        self._tail = Tail(settings, settings.outbox, 0)

    def cut(self) -> Cut:
        """Return the cut before which all deliveries are planned."""
        message = self._tail.last()
        return Cut() if message is None else read_outbox_record(message).covered or Cut()

    def close(self) -> None:
        """Let go of the connection."""
        self._tail.close()


def count_shares(settings: KafkaSettings) -> int:
    """Return how many partitions the outbox has."""
    try:
        listed = administrator(settings).list_topics(settings.outbox, timeout=settings.timeout_seconds)
    except confluent_kafka.KafkaException as error:
        raise explained(error, settings) from error
    return len(listed.topics[settings.outbox].partitions)


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
