"""The service in one process, without Spark and without HTTP in front.

Log, route, outbox, ledger, store and dispatcher are those of the roles, opened by the roles' own functions. What the
supervisor and a role's process do around them is done here as they do it, with their functions where they have one:
checks at the start, an eye on the databases, the end of everything where a role refuses, a new start where one dies.
"""

import asyncio
import gc
import threading
from collections.abc import Callable, Coroutine
from contextlib import ExitStack, suppress
from typing import Any
from unittest.mock import patch

from tests.chaos import plain_session
from tests.opening import opening

from headrace.config import Config
from headrace.database.sqlite import watch
from headrace.errors import HeadraceError, LogUnavailable
from headrace.eventlog.local.outbox.reader import LocalOutboxReader
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.ledger.ledger import Ledger
from headrace.ledger.records.dead_letters import DeadQuery
from headrace.ledger.records.records import Records
from headrace.service.role import EXIT_REFUSED, _end, _only
from headrace.service.roles.pipeline import route_until
from headrace.service.storage.database_files import check_databases, seal_databases
from headrace.service.storage.database_guard import _refusal_in
from headrace.service.storage.databases import open_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import open_log_writer
from headrace.service.upkeep.dispatcher import drain_all
from headrace.subscriptions.store.set_aside import Kind
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription
from headrace.telemetry.health import HEALTH

_GUARD_SECONDS = 1.0
_PAUSE_SECONDS = 0.1  # before a role starts again


class PlainService:
    """For one event loop, and once. `open` raises what a start raises.

    `refusals` is what a role ended with that refuses to run, and with it everything; `standing` what the supervisor
    says of a role that starts again; `crashes` what ended a role and nobody foresaw.
    """

    def __init__(self, config: Config) -> None:
        self._config = config
        self._layout = Layout(config.data)
        self._stop = asyncio.Event()
        self._stop_route = threading.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._opened = ExitStack()
        self.standing: dict[str, str] = {}
        self.crashes: list[str] = []
        self.refusals: list[str] = []

    async def open(self, *, delivers: bool = True) -> None:
        for part in HEALTH.reports():  # it is another process, and knows nothing of the last one
            HEALTH.forget(part)
        watch._watches.clear()
        self._config.data.mkdir(parents=True, exist_ok=True)
        self._layout.work.mkdir(parents=True, exist_ok=True)
        check_databases(self._config)  # as the supervisor does
        patience = self._config.store.patience_seconds
        databases = self._opened.enter_context(open_databases(self._config, patience))
        self._store = Store(databases.store)
        try:
            self._ingress = open_log_writer(self._config, databases)
        except BaseException:
            self._opened.close()
            raise
        self._outbox = LocalOutboxReader(self._layout.outbox)
        self._opened.enter_context(
            patch.multiple(
                "headrace.pipeline.route.route",
                Session=plain_session.Session,
                use_pool=plain_session.use_pool,
            )
        )
        self._begin(self._guard())
        self._begin(self._keep("pipeline", self._route))
        if delivers:
            self._begin(self._keep("dispatcher", self._deliver))

    async def close(self) -> None:
        self._end_roles()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._ingress.writer.close()
        self._opened.close()
        gc.collect()  # whatever still has a database open
        seal_databases(self._config)  # as the supervisor does

    @property
    def has_ended(self) -> bool:
        """Whether a role has refused to run: then the supervisor stops all of them."""
        return bool(self.refusals)

    def subscribe(self, wish: dict[str, Any]) -> str:
        return self._store.create(parse_subscription(wish), self._ingress.end).id

    def set_aside(self) -> list[range]:
        """Positions that could not be routed."""
        found = self._store.what_is_set_aside(1000)
        return [range(each.position, each.until) for each in found if each.kind is not Kind.FILTER]

    def dead(self) -> list[tuple[str, int]]:
        """Subscriptions and positions of what was given up."""
        with opening(Records, self._config.delivery.url) as records:
            return [(each.subscription, each.position) for each in records.dead_letters(DeadQuery())]

    async def publish(self, events: list[Event]) -> int:
        """Store the events as one commit, and return the position of the first."""
        if self.has_ended:
            raise LogUnavailable("nobody answers")
        return await self._ingress.writer.append(
            [Arrival(each, "default", "default") for each in events], 100
        )

    def covered(self) -> int:
        return self._outbox.covered()[0]

    def cursor(self) -> int:
        with opening(Ledger, self._config.delivery.url) as ledger:
            return ledger.cursor()[0]

    def is_settled(self, *, but_for_retries: bool) -> bool:
        """Whether everybody is done: what hasn't arrived then never does. False where that can't be known."""
        with suppress(Exception), opening(Ledger, self._config.delivery.url) as ledger:
            end = self._ingress.end()[0]
            waiting = 0 if but_for_retries else ledger.count()[0]
            return min(self.covered(), ledger.cursor()[0]) >= end and not waiting
        return False

    def clear(self) -> None:
        """Remove what is delivered from the outbox, as the dispatcher does every ten seconds."""
        self._outbox.drop(LogPosition.at(self.cursor()))

    def _begin(self, work: Coroutine[Any, Any, None]) -> None:
        self._tasks.append(asyncio.create_task(work))

    def _end_roles(self) -> None:
        self._stop.set()
        self._stop_route.set()

    async def _route(self) -> None:
        def on_ready() -> None:
            self.standing.pop("pipeline", None)

        await asyncio.to_thread(route_until, self._config, self._stop_route, on_ready)

    async def _deliver(self) -> None:
        await drain_all(self._config, self._stop, lambda: None)

    async def _keep(self, name: str, run: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run a role, as its process does, and start it again when it dies, as the supervisor does."""
        while not self._stop.is_set():
            try:
                await run()
            except Exception as error:  # noqa: BLE001  whatever it dies of
                self._ended(name, _refusal_in(error) or _only(error))
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _PAUSE_SECONDS)

    def _ended(self, name: str, error: Exception) -> None:
        status, reason = _end(name, self._config, error)
        if not isinstance(error, HeadraceError):
            self.crashes.append(f"role {name} ends by {error!r}")
        if status == EXIT_REFUSED:
            self._refuse(error)
        else:
            self.standing[name] = f"it ended with status {status} and starts again: {reason}"

    async def _guard(self) -> None:
        """Look at the databases, as DatabaseGuard does in every role."""
        while not self._stop.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stop.wait(), _GUARD_SECONDS)
            refusal = watch.look_at_all()
            if refusal is not None:
                self._refuse(refusal)

    def _refuse(self, refusal: Exception) -> None:
        if str(refusal) not in self.refusals:
            self.refusals.append(str(refusal))
        self._end_roles()
