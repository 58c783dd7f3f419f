"""Everything around a dispatcher, for real: log and outbox on disk, store and ledger in one database."""

import asyncio
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
from sqlalchemy import select
from tests.delivery.guards import LOOPBACK

from headrace.config import load_config
from headrace.database.database import Database
from headrace.delivery.attempt.outcome import Sender
from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.dispatcher import Dispatcher
from headrace.delivery.protocols.http.sender import HttpSender
from headrace.delivery.settings import DeliverySettings
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events import Event
from headrace.events.event import AttributeValue
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.ledger import Ledger
from headrace.ledger.records.records import Records
from headrace.ledger.tables import ATTEMPTS, DEAD
from headrace.subscriptions.delivery.spec import DeliverySpec
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import Subscription, parse_subscription

# Fast enough that no test waits for the clock.
QUICK = {
    "timeout_seconds": 5.0,
    "retries": 3,
    "backoff_seconds": 0.02,
    "jitter": 0.0,
    "flush_seconds": 0.01,
    "poll_seconds": 0.002,
    "breaker_failures": 0,
    # What the ledger holds must not depend on how slow the machine is.
    "memory_seconds": 600.0,
}


def delivery_settings(**changes: Any) -> DeliverySettings:
    overrides = {f"delivery.{key}": value for key, value in (QUICK | changes).items()}
    return load_config(None, overrides, {}).delivery


def spec(**changes: Any) -> DeliverySpec:
    return replace(default_spec(delivery_settings()), **changes)


def sample(number: int, **attributes: AttributeValue) -> Event:
    required: dict[str, AttributeValue] = {
        "specversion": "1.0",
        "id": str(number),
        "source": "/s",
        "type": "t",
    }
    return Event(required | attributes, f'{{"number": {number}}}'.encode())


async def eventually(condition: Callable[[], object], seconds: float = 60.0) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not become true in time"
        await asyncio.sleep(0.005)


class WishingStore(Store):
    """A store in which subscriptions can be changed as tests like: what the API doesn't write, the dispatcher follows."""

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        self._wishes: dict[str, dict[str, Any]] = {}
        self._changed: set[str] = set()
        self._lock = threading.Lock()  # the dispatcher asks from a thread of its own

    def wish(self, subscription_id: str, **changes: Any) -> None:
        with self._lock:
            self._wishes[subscription_id] = self._wishes.get(subscription_id, {}) | changes
            self._changed.add(subscription_id)

    def changes(self, since: int) -> tuple[int, list[Subscription]]:
        with self._lock:
            wished, self._changed = self._changed, set()
        again = [self.get(each) for each in wished]
        revision, changed = super().changes(since)
        known = {each.id for each in changed}
        changed += [each for each in again if each.id not in known]
        return revision, [replace(each, **self._wishes.get(each.id, {})) for each in changed]


class Harness:
    def __init__(
        self, folder: Path, database_url: str, segment_bytes: int = 1 << 20, patience: float = 0.0
    ) -> None:
        self.folder = folder
        self.database_url = database_url
        self._database = Database(database_url, patience)
        self.log = SegmentWriter(folder / "log", segment_bytes)
        self.outbox = LocalOutboxWriter(folder / "outbox")
        self.store = WishingStore(self._database)
        self.ledger = self.open_ledger()
        self.records = Records(self._database)
        self.jobs = Jobs(self._database)
        self.replays = Replays(self.jobs)
        self.specs: dict[str, dict[str, Any]] = {}
        self.gone: list[tuple[str, str]] = []

    def open_ledger(self) -> Ledger:
        return Ledger(self._database)

    def close(self) -> None:
        self.log.close()
        self.outbox.close()
        self._database.close()

    def subscribe(self, sink: str, spec: dict[str, Any] | None = None, **settings: Any) -> str:
        proposal = parse_subscription({"sink": sink, "protocol": "HTTP", "protocolsettings": settings})
        self.specs[proposal.id] = spec or {}
        return self.store.create(proposal, lambda: LogPosition.at(self.log.end)).id

    def record(self, events: Sequence[Event]) -> range:
        first = self.log.append([Arrival(event, "default", "default") for event in events])
        return range(first, first + len(events))

    def plan(self, positions: range, pairs: Iterable[tuple[int, str]]) -> None:
        """Write one file of the outbox that covers these positions."""
        rows = list(pairs)
        table = pa.table(
            {
                "position": pa.array([position for position, _ in rows], pa.int64()),
                "subscription": pa.array([subscription for _, subscription in rows], pa.string()),
            }
        )
        self.outbox.write(LogPosition.at(positions.start), LogPosition.at(positions.stop), table)

    def send(self, events: Sequence[Event], *subscriptions: str) -> range:
        """Record events and plan each for all of these subscriptions."""
        positions = self.record(events)
        self.plan(positions, ((position, each) for position in positions for each in subscriptions))
        return positions

    def dispatcher(self, ledger: Ledger, sender: Sender, settings: DeliverySettings) -> Dispatcher:
        outbox, log = LocalOutboxReader(self.folder / "outbox"), SegmentReader(self.folder / "log")
        default = default_spec(settings)

        def spec_of(subscription: Subscription) -> DeliverySpec:
            return replace(default, **self.specs.get(subscription.id, {}))

        return Dispatcher(
            outbox,
            log,
            self.store,
            ledger,
            self.replays,
            {"HTTP": sender},
            settings,
            spec_of=spec_of,
            on_gone=lambda *told: self.gone.append(told),
            report=self.records.report,
        )

    @asynccontextmanager
    async def delivering(self, sender: Sender | None = None, **changes: Any) -> AsyncIterator[Dispatcher]:
        """Run a dispatcher; stop it in order at the end."""
        settings = delivery_settings(**changes)
        ledger = self.open_ledger()
        dispatcher = self.dispatcher(ledger, sender or HttpSender(LOOPBACK), settings)
        stop = asyncio.Event()
        running = asyncio.create_task(dispatcher.run(stop))
        try:
            yield dispatcher
        finally:
            stop.set()
            await running

    @asynccontextmanager
    async def crashing(self, sender: Sender | None = None, **changes: Any) -> AsyncIterator[Dispatcher]:
        """Run a dispatcher; abandon it at the end, as a crash would."""
        settings = delivery_settings(**changes)
        ledger = self.open_ledger()
        sender = sender or HttpSender(LOOPBACK)
        dispatcher = self.dispatcher(ledger, sender, settings)
        running = asyncio.create_task(dispatcher.run(asyncio.Event()))
        try:
            yield dispatcher
        finally:
            running.cancel()
            queues = [task for queue in dispatcher._queues for task in queue._tasks]
            for queue in dispatcher._queues:
                queue.close()
            for task in queues:
                task.cancel()
            await asyncio.gather(running, *queues, return_exceptions=True)
            dispatcher._ledger.close()
            dispatcher._events.close()
            await sender.close()

    def dead(self) -> list[Any]:
        """Return what was given up."""
        with self.ledger.database.engine.connect() as connection:
            return list(connection.execute(select(DEAD).order_by(DEAD.c.position)))

    def attempts(self) -> list[Any]:
        """Return the log of attempts."""
        with self.ledger.database.engine.connect() as connection:
            return list(connection.execute(select(ATTEMPTS).order_by(ATTEMPTS.c.number)))

    def settled(self) -> bool:
        """Tell whether nothing is left to do."""
        return self.ledger.cursor() == LogPosition.at(self.log.end) and self.ledger.count()[0] == 0
