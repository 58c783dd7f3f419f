"""A consumer, which iterates over the events of a subscription of protocol PULL."""

from __future__ import annotations

import asyncio
import random
import secrets
import time
import weakref
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from headrace.errors import HeadraceError, ServiceRefused, ServiceUnreachable

if TYPE_CHECKING:
    from headrace.client.client import Client
    from headrace.client.points import PointLike
    from headrace.events.event import Event

_FIRST_PAUSE, _LONGEST_PAUSE = 0.1, 5.0
_KEEP_SECONDS = 1.0
_TOO_MANY, _INTERNAL = 429, 500


class PulledEvent(NamedTuple):
    """An event, handed out for the `handed`th time; `cursor` acknowledges it and all before it.

    `replay` is the job that requested it, if it is a past event.
    """

    event: Event
    cursor: str
    position: int
    handed: int
    replay: str | None


class Consumer:
    """An async iterator over events, for one event loop and one task.

    Every event comes at least once. Requesting the next one means that the last one is done; it is acknowledged within
    a second, or when the consumer is closed. An event that is left by an error or `break` comes again, unless
    `acknowledge` was called. While the service is unreachable, the consumer waits.

    Use it as an async context manager, so that what it holds is released at the end; otherwise that takes until the
    lease is over. Code that blocks the event loop for longer than the lease gets its events twice.
    """

    def __init__(self, client: Client, subscription_id: str, *, most: int, wait_seconds: int) -> None:
        self.subscription_id = subscription_id
        self.current: PulledEvent | None = None
        self._client = client
        self._most = most
        self._wait_seconds = wait_seconds
        self._name = secrets.token_hex(8)
        self._done = self._told = f"{self._name}-0"
        self._heard_at = time.monotonic()
        self._waiting: deque[PulledEvent] = deque()
        self._seeks = 0
        self._lease = 0.0
        self._keeping: asyncio.Task[None] | None = None
        self._is_fetching = self._is_closed = False

    def __aiter__(self) -> Self:
        return self

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def __anext__(self) -> Event:
        """Return the next event, however long it takes; the one before counts as done."""
        if self.current is not None:
            self._done, self.current = self.current.cursor, None
        while not self._waiting:
            if self._is_closed:
                raise StopAsyncIteration
            self._is_fetching = True
            try:
                await self._fetch()
            finally:
                self._is_fetching = False
        self.current = self._waiting.popleft()
        return self.current.event

    async def acknowledge(self) -> None:
        """Acknowledge the current event and all before it; that is durable when this returns."""
        if self.current is not None:
            self._done = self.current.cursor
        await self._tell()

    async def seek(self, to: PointLike) -> dict[str, Any]:
        """Continue from another point, and return what was found there; what was fetched before is dropped.

        If nothing is found, nothing changes.
        """
        result = await self._client.finished(await self._client.seek(self.subscription_id, to))
        if result["found"]:
            self._seeks += 1
            self._waiting.clear()
            self.current = None
        return result

    async def close(self) -> None:
        """Acknowledge what is done, release the rest, and end the iteration."""
        if self._is_closed:
            return
        self._is_closed = True
        self._waiting.clear()
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(ServiceRefused, ServiceUnreachable):  # it comes again when the lease is over
                await self._client.acknowledge(self.subscription_id, up_to=self._done, release=True)

    async def _fetch(self) -> None:
        """Fetch more events, which acknowledges what is done. Wait while the service is unreachable."""
        pause, seeks = _FIRST_PAUSE, self._seeks
        while True:
            try:
                await self._keep()
                fetched = await self._client.pull(
                    self.subscription_id, max_events=self._most, wait_seconds=self._wait_seconds, cursor=self._done
                )  # fmt: skip
                break
            except (ServiceRefused, ServiceUnreachable) as error:
                if (
                    isinstance(error, ServiceRefused)
                    and error.status < _INTERNAL
                    and error.status != _TOO_MANY
                ):
                    raise
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))
            pause = min(pause * 2, _LONGEST_PAUSE)
        self._told, self._heard_at = self._done, time.monotonic()
        if seeks == self._seeks:
            self._waiting.extend(fetched)

    async def _keep(self) -> None:
        """Start to renew the lease."""
        if self._keeping is None:
            subscription = await self._client.subscription(self.subscription_id)
            self._lease = float(subscription["protocolsettings"].get("lease", 0.0))
            self._keeping = asyncio.create_task(_keep_alive(weakref.ref(self)))

    async def _tell(self) -> None:
        told = self._done
        await self._client.acknowledge(self.subscription_id, up_to=told)
        self._told, self._heard_at = told, time.monotonic()

    async def _keep_up(self) -> None:
        """Acknowledge what was done meanwhile; otherwise renew the lease in time."""
        is_old = time.monotonic() - self._heard_at > self._lease / 3
        holds = self.current is not None or bool(self._waiting)
        if not self._is_fetching and (self._done != self._told or (holds and is_old)):
            await self._tell()


async def _keep_alive(reference: weakref.ref[Consumer]) -> None:
    """Renew a consumer's lease for as long as the consumer is referenced."""
    while True:
        await asyncio.sleep(_KEEP_SECONDS)
        consumer = reference()
        if consumer is None:
            return
        with suppress(HeadraceError):  # the next request says it
            await consumer._keep_up()  # noqa: SLF001  it is this module's
        del consumer
