"""The service without Spark and without HTTP in front: the same log, route, outbox, ledger, store and dispatcher.

Each part is opened as its role opens it, so what a role checks at its start is checked here.
"""

import asyncio
from contextlib import closing, suppress
from typing import Any

from tests.chaos.plain_route import PlainRoute

from headrace.config import Config
from headrace.errors import HeadraceError
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.ledger.ledger import Ledger
from headrace.ledger.records.dead_letters import DeadQuery
from headrace.ledger.records.records import Records
from headrace.service.storage.database_files import check_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import open_log_writer
from headrace.service.upkeep.dispatcher import drain_all
from headrace.subscriptions.store.set_aside import Kind
from headrace.subscriptions.subscription import parse_subscription

_POLL_SECONDS = 0.01
_STARTS = 3
"""A dispatcher that has died so often in a row doesn't come back by being started again."""


class PlainService:
    """For one event loop. `open` raises what a start raises; `routes` and `delivers` can be switched."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._layout = Layout(config.data)
        self._stop = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self.routes = asyncio.Event()
        self.routing = asyncio.Lock()
        self.route_error: Exception | None = None
        self.crashes: list[str] = []
        self.refusals: list[str] = []

    async def open(self, *, routes: bool = True, delivers: bool = True) -> None:
        self._config.data.mkdir(parents=True, exist_ok=True)
        check_databases(self._config)  # as the supervisor does
        self._ingress = open_log_writer(self._config)
        try:
            self.route = PlainRoute(self._config)
        except BaseException:
            await self._ingress.writer.close()
            self._ingress.close()
            raise
        if routes:
            self.routes.set()
        self._tasks.append(asyncio.create_task(self._route()))
        if delivers:
            self.deliver()

    async def close(self) -> None:
        self._stop.set()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self.route.close()
        await self._ingress.writer.close()
        self._ingress.close()

    def subscribe(self, wish: dict[str, Any]) -> str:
        return self.route.store.create(parse_subscription(wish), self._ingress.end).id

    def set_aside(self) -> list[range]:
        """Positions that could not be routed."""
        found = self.route.store.what_is_set_aside(1000)
        return [range(each.position, each.until) for each in found if each.kind is not Kind.FILTER]

    def dead(self) -> list[tuple[str, int]]:
        """Subscriptions and positions of what was given up."""
        with closing(Records(self._config.delivery.url)) as records:
            return [(each.subscription, each.position) for each in records.dead_letters(DeadQuery())]

    async def publish(self, events: list[Event]) -> int:
        """Store the events as one commit, and return the position of the first."""
        return await self._ingress.writer.append(
            [Arrival(each, "default", "default") for each in events], 100
        )

    def deliver(self) -> None:
        self._tasks.append(asyncio.create_task(self._deliver()))

    def covered(self) -> int:
        return self.route.covered()

    def cursor(self) -> int:
        with closing(Ledger(self._config.delivery.url)) as ledger:
            return ledger.cursor()[0]

    def is_settled(self, *, but_for_retries: bool) -> bool:
        """Whether everybody is done: what hasn't arrived then never does. False where that can't be known."""
        with suppress(Exception), closing(Ledger(self._config.delivery.url)) as ledger:
            end = self._ingress.end()[0]
            waiting = 0 if but_for_retries else ledger.count()[0]
            return min(self.covered(), ledger.cursor()[0]) >= end and not waiting
        return False

    def clear(self) -> None:
        """Remove what is delivered from the outbox, as the dispatcher does every ten seconds."""
        LocalOutboxReader(self._layout.outbox).drop(LogPosition.at(self.cursor()))

    async def _route(self) -> None:
        """Route again and again; a failure is told where Route tells it, and routing starts again."""
        while not self._stop.is_set():
            if self.routes.is_set():
                try:
                    async with self.routing:
                        await asyncio.to_thread(self.route.route)
                    self.route_error = None
                except Exception as error:  # noqa: BLE001  Spark's query starts again after any of them
                    self.route_error = error
            await asyncio.sleep(_POLL_SECONDS)

    async def _deliver(self) -> None:
        """Start the dispatcher again when it dies, as its supervisor does, but not for ever."""
        for _ in range(_STARTS):
            try:
                await drain_all(self._config, self._stop, lambda: None)
            except Exception as error:  # noqa: BLE001  whatever it dies of
                refusal = _refusal(error)
                if refusal:
                    self.refusals.append(refusal)
                    return
                problem = repr(error)
            else:
                return
        self.crashes.append(f"the dispatcher dies again and again: {problem}")


def _refusal(error: BaseException) -> str | None:
    """The message of an error that a role ends with on purpose."""
    if isinstance(error, BaseExceptionGroup):
        texts = [_refusal(each) for each in error.exceptions]
        return next((text for text in texts if text), None) if all(texts) else None
    return str(error) if isinstance(error, HeadraceError) else None
