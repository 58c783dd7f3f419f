"""Pulling from a Python program: the events of a subscription of protocol PULL, one after the other."""

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
    """An event as it was handed out, for the `handed`th time; `cursor` acknowledges it, and all before it.

    `replay` is the job that asked for it, if it is one of the past.
    """

    event: Event
    cursor: str
    position: int
    handed: int
    replay: str | None


class Consumer:
    """An async iterator over events, for one event loop and one task.

    Every event comes at least once. Asking for the next one says that the last one is done; it is acknowledged within a
    second, or when the consumer is closed. One that is left in the middle, by an error or `break`, comes again, unless
    `acknowledge` was called. A service that is away is waited for.

    Use it as an async context manager, and what it holds is given back at the end; otherwise that takes until its lease
    is over. Code that blocks the event loop for longer than the lease gets its events a second time.
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
        """Return the next event, however long it takes; the one before is done."""
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
        """Say that the current event is done, too, and that all are durably acknowledged when this returns."""
        if self.current is not None:
            self._done = self.current.cursor
        await self._tell()

    async def seek(self, to: PointLike) -> dict[str, Any]:
        """Go on from another point, and return what was found there; what was fetched before is dropped.

        Where nothing is found, everything stays as it is.
        """
        result = await self._client.finished(await self._client.seek(self.subscription_id, to))
        if result["found"]:
            self._seeks += 1
            self._waiting.clear()
            self.current = None
        return result

    async def close(self) -> None:
        """Acknowledge what is done, and give the rest back. The iteration ends."""
        if self._is_closed:
            return
        self._is_closed = True
        self._waiting.clear()
        if self._keeping is not None:
            self._keeping.cancel()
            with suppress(ServiceRefused, ServiceUnreachable):  # it comes again when the lease is over
                await self._client.acknowledge(self.subscription_id, up_to=self._done, release=True)

    async def _fetch(self) -> None:
        """Ask for more; that acknowledges what is done. Wait for a service that is away."""
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
        """Begin to let the service know that this consumer is alive."""
        if self._keeping is None:
            subscription = await self._client.subscription(self.subscription_id)
            self._lease = float(subscription["protocolsettings"].get("lease", 0.0))
            self._keeping = asyncio.create_task(_keep_alive(weakref.ref(self)))

    async def _tell(self) -> None:
        told = self._done
        await self._client.acknowledge(self.subscription_id, up_to=told)
        self._told, self._heard_at = told, time.monotonic()

    async def _keep_up(self) -> None:
        """Acknowledge what was done meanwhile; else renew the lease in good time."""
        is_old = time.monotonic() - self._heard_at > self._lease / 3
        holds = self.current is not None or bool(self._waiting)
        if not self._is_fetching and (self._done != self._told or (holds and is_old)):
            await self._tell()


async def _keep_alive(reference: weakref.ref[Consumer]) -> None:
    """Keep a consumer's lease for as long as somebody has the consumer."""
    while True:
        await asyncio.sleep(_KEEP_SECONDS)
        consumer = reference()
        if consumer is None:
            return
        with suppress(HeadraceError):  # the next request says it
            await consumer._keep_up()  # noqa: SLF001  it is this module's
        del consumer
