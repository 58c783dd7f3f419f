"""Appending to the log in Kafka: when `append` returns, every replica in sync has acknowledged the events.

A single event is a record of its own. The events of a batched request are in one transaction, so that readers see all
of them or none; there is one transaction at a time, and requests that arrive meanwhile share the next. If a shared
one was certainly aborted, each request is tried alone: one that the brokers refuse must not fail the others. A broker
acknowledges a transaction before readers see it. `append` returns once they do, since a subscription that is created
afterwards must not get these events.
"""

from __future__ import annotations

import asyncio
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import confluent_kafka

from headrace.errors import BrokerUnavailable, LogLocked, LogUnavailable, PayloadTooLarge
from headrace.eventlog.kafka.clients import producer, refusal
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.records import key_of, write_record
from headrace.eventlog.kafka.topics import Topics
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.log import room_for_events
from headrace.events.positions import partition_of, position_at
from headrace.group_commit import GroupCommit
from headrace.telemetry.metrics import LOG_BYTES

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from headrace.eventlog.kafka.settings import KafkaSettings
    from headrace.events.recorded import Arrival

    Report = Callable[[confluent_kafka.KafkaError | None, confluent_kafka.Message], None]

_MAX_COMMIT_BYTES = 8 << 20
_POLL_SECONDS = 0.1
_PARTITIONER = {
    "partitioner": "murmur2_random"
}  # as Java's producers do it: one key, one partition, whoever writes


class KafkaLogWriter:
    """A LogWriter for one event loop. `name` distinguishes it from every other writer of the same topics."""

    def __init__(self, settings: KafkaSettings, name: str, max_pending_bytes: int) -> None:
        self._settings = settings
        self._topics = Topics(settings)
        self._producer = producer(settings, **{"linger.ms": 2}, **_PARTITIONER)
        # Two deployments may share the brokers and have machines of the same name.
        full_name = f"headrace-ingress-{self._topics.listed[0].name}-{name}"
        self._transactions = Transactions(settings, full_name, settings.timeout_seconds, **_PARTITIONER)
        self._reader = KafkaLogReader(settings)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log-transactions")
        self._loop = asyncio.get_running_loop()
        self._room = room_for_events(max_pending_bytes)
        self._group = GroupCommit(self._commit, self._room, _MAX_COMMIT_BYTES, _is_undone)
        self._closing = threading.Event()
        self._poller = threading.Thread(target=self._poll, name="log-acknowledgements", daemon=True)
        self._poller.start()
        self._thread.submit(self._end_open_transaction)

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Make the events durable, all or none, and return the position of the first."""
        if self._closing.is_set():
            raise LogUnavailable("the service is shutting down")
        if len(arrivals) == 1:
            return await self._append_one(arrivals[0], size)
        return await self._group.submit(arrivals, size)

    async def close(self) -> None:
        """Finish what was accepted, then refuse more."""
        self._closing.set()
        await self._group.finish()
        await self._loop.run_in_executor(self._thread, self._producer.flush, self._settings.timeout_seconds)
        await self._loop.run_in_executor(None, self._poller.join)
        self._thread.shutdown()

    async def _append_one(self, arrival: Arrival, size: int) -> int:
        done: asyncio.Future[int] = self._loop.create_future()

        def report(error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message) -> None:
            self._loop.call_soon_threadsafe(self._settle, done, size, error, message)

        self._room.take(size)
        try:
            self._produce(self._producer, arrival, report)
        except Exception as error:
            self._room.give_back(size)
            if isinstance(error, confluent_kafka.KafkaException):
                raise refusal(error.args[0], self._settings, is_certain=True) from error
            raise
        return await done

    async def _commit(self, requests: Sequence[Sequence[Arrival]]) -> list[int]:
        return await self._loop.run_in_executor(self._thread, self._append_all, requests)

    def _append_all(self, requests: Sequence[Sequence[Arrival]]) -> list[int]:
        firsts: dict[int, int] = {}
        last: dict[int, int] = {}

        def report(
            request: int, error: confluent_kafka.KafkaError | None, message: confluent_kafka.Message
        ) -> None:
            if error is None:
                position = self._position(message)
                last[partition_of(position)] = max(position, last.get(partition_of(position), 0))
                if request >= 0:
                    firsts[request] = position

        try:
            with self._transactions.transaction() as transaction:
                for number, arrivals in enumerate(requests):
                    for index, arrival in enumerate(arrivals):
                        self._produce(transaction, arrival, partial(report, -1 if index else number))
        except LogLocked as error:
            # The name is this writer's alone, so its transaction timed out; the next request connects again.
            problem = "the brokers have ended a transaction that took too long"
            raise LogUnavailable(problem, is_certain=False) from error
        self._wait_until_seen(list(last.values()))
        return [firsts[number] for number in range(len(requests))]

    def _end_open_transaction(self) -> None:
        """End a transaction that an earlier writer of this name left open: readers of the topics wait for it."""
        with suppress(BrokerUnavailable):  # the next transaction does it
            self._transactions.begin()

    def _wait_until_seen(self, positions: list[int]) -> None:
        """Wait until readers see these positions; they are durable, so a timeout loses nothing."""
        deadline = time.monotonic() + self._settings.timeout_seconds
        while time.monotonic() < deadline:
            with suppress(BrokerUnavailable):
                end = self._reader.end()
                if all(end.is_behind(position) for position in positions):
                    return

    def _produce(self, client: confluent_kafka.Producer, arrival: Arrival, report: Report) -> None:
        message = write_record(arrival)
        topic = self._topics.of(arrival.namespace).name
        try:
            client.produce(topic, message.value, key_of(arrival), on_delivery=report, headers=message.headers)
        except BufferError:
            raise LogUnavailable("too many events wait for the brokers") from None
        LOG_BYTES.inc(len(message.value or b""))

    def _settle(
        self,
        done: asyncio.Future[int],
        size: int,
        error: confluent_kafka.KafkaError | None,
        message: confluent_kafka.Message,
    ) -> None:
        self._room.give_back(size)  # not earlier: the producer keeps an event that nobody waits for any more
        if done.done():
            return
        if error is None:
            done.set_result(self._position(message))
        else:
            done.set_exception(refusal(error, self._settings, is_certain=False))

    def _position(self, message: confluent_kafka.Message) -> int:
        return position_at(self._topics.partition(message.topic(), message.partition()), message.offset())

    def _poll(self) -> None:
        while not self._closing.is_set() or len(self._producer):
            self._producer.poll(_POLL_SECONDS)


def _is_undone(error: Exception) -> bool:
    """Tell whether a transaction was certainly aborted."""
    return isinstance(error, PayloadTooLarge) or (isinstance(error, LogUnavailable) and error.is_certain)
