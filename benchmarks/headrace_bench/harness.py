"""A dispatcher alone: the log and the outbox are written here, in the place of ingress and pipeline."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any, Self

import pyarrow as pa

from headrace.database.database import Database
from headrace.eventlog.local.outbox.writer import LocalOutboxWriter
from headrace.eventlog.local.writer import SegmentWriter
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.ledger.ledger import Changes, Ledger
from headrace.service.processes.heartbeats import has_started
from headrace.service.processes.service import ServiceProcess, free_port
from headrace.service.storage.layout import Layout
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from headrace.events.event import Event

_ROLE = "dispatcher"
_START_SECONDS = 60.0
_SEGMENT_BYTES = 64 << 20


class DispatcherAlone:
    """A context manager that ends the dispatcher and closes the files."""

    def __init__(self, folder: Path, settings: Mapping[str, str]) -> None:
        self.data = folder / "data"
        layout = Layout(self.data)
        self.data.mkdir(parents=True)
        self._log = SegmentWriter(layout.log, _SEGMENT_BYTES)
        self._outbox = LocalOutboxWriter(layout.outbox)
        self._store = Store(Database(f"sqlite:///{self.data}/store.db"))
        self._ledger = Ledger(Database(f"sqlite:///{self.data}/delivery.db"))
        self._run_folder = layout.run
        roles = {"ROLES": f'["{_ROLE}"]'}
        self.service = ServiceProcess(self.data, free_port(), folder / "service.log", {**settings, **roles})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.service.is_running:
            self.service.stop()
        for each in (self._log, self._outbox, self._store.database, self._ledger.database):
            each.close()

    def subscribe(self, wish: Mapping[str, Any]) -> str:
        """Add a subscription; it gets what is planned for it."""
        return self._store.create(parse_subscription(dict(wish)), lambda: LogPosition.at(self._log.end)).id

    def send(self, events: Sequence[Event], wanted: Callable[[int], Sequence[str]]) -> range:
        """Store the events, and plan each for the subscriptions that want its position."""
        first = self._log.append([Arrival(event, "default", "default") for event in events])
        positions = range(first, first + len(events))
        planned = [(position, each) for position in positions for each in wanted(position)]
        pairs = pa.table(
            {
                "position": pa.array([position for position, _ in planned], pa.int64()),
                "subscription": pa.array([subscription for _, subscription in planned], pa.string()),
            }
        )
        self._outbox.write(LogPosition.at(positions.start), LogPosition.at(positions.stop), pairs)
        return positions

    def pass_all(self) -> None:
        """Have the dispatcher begin behind what was planned: everything that it is to do is in the ledger."""
        self._ledger.commit(Changes([], [], [], LogPosition.at(self._log.end)))

    async def start(self) -> None:
        """Start the dispatcher."""
        self.service.start()
        deadline = time.monotonic() + _START_SECONDS
        while not has_started(self._run_folder, _ROLE):
            if time.monotonic() > deadline or not self.service.is_running:
                raise RuntimeError(f"the dispatcher doesn't start:\n{self.service.tail()}")
            await asyncio.sleep(0.02)

    @property
    def is_settled(self) -> bool:
        """Whether everything was delivered or given up."""
        return LogPosition.at(self._log.end) <= self._ledger.cursor() and not self._ledger.count()[0]
