"""Clients that subscriptions share: made once for equal settings, bounded in number, closed when nobody needs them."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Hashable

_log = logging.getLogger(__name__)


class Client(Protocol):
    """A connection, or several to one cluster."""

    @property
    def usable(self) -> bool:
        """Tell whether it is worth another attempt; what is not is closed, and made anew."""
        ...

    async def close(self) -> None:
        """End it, within seconds, whatever is under way."""
        ...


C = TypeVar("C", bound=Client)


class _Entry(Generic[C]):
    """A client or the making of it, with those who use it now and those it was made for."""

    __slots__ = ("client", "making", "owners", "used", "users")

    def __init__(self, making: asyncio.Task[C], now: float) -> None:
        self.making = making
        self.client: C | None = None
        self.used = now
        self.users = 0
        self.owners: set[str] = set()

    @property
    def spent(self) -> bool:
        """Tell whether it was made in vain, or can't be used any more."""
        if self.client is not None:
            return not self.client.usable
        return self.making.done() and (self.making.cancelled() or self.making.exception() is not None)


class Clients(Generic[C]):
    """For one event loop. A key holds everything that a client is made of, its credential too."""

    def __init__(self, most: int, idle_seconds: float) -> None:
        self._most = most
        self._idle_seconds = idle_seconds
        self._entries: dict[Hashable, _Entry[C]] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._sweeping: asyncio.TimerHandle | None = None

    def use(self, key: Hashable, owner: str, make: Callable[[], Awaitable[C]]) -> _Use[C]:
        """Hand out the client of this key and keep it open meanwhile. Making it goes on when who asked gives up.

        Entering raises what `make` raised; ConnectionError where there are too many and all are in use.
        """
        return _Use(self, key, owner, make)

    def hold(self, key: Hashable, owner: str, make: Callable[[], Awaitable[C]]) -> _Entry[C]:
        """Find or begin a client, and count one who uses it."""
        entry = self._entries.get(key)
        if entry is None or entry.spent:
            entry = self._replace(key, make)
        entry.owners.add(owner)
        entry.users += 1
        return entry

    def release(self, key: Hashable, entry: _Entry[C]) -> None:
        """Count one user less, and close what is spent or nobody's."""
        entry.users -= 1
        entry.used = time.monotonic()
        if (entry.spent or not (entry.owners or entry.users)) and self._entries.get(key) is entry:
            self._end(key)

    async def forget(self, owner: str) -> None:
        """Close what was made for this subscription and nobody else uses."""
        for key, entry in list(self._entries.items()):
            entry.owners.discard(owner)
            if not (entry.owners or entry.users):
                self._end(key)

    async def close(self) -> None:
        """Close all."""
        if self._sweeping is not None:
            self._sweeping.cancel()
        for key in list(self._entries):
            self._end(key)
        await asyncio.gather(*self._ending)

    def __len__(self) -> int:
        return len(self._entries)

    def _replace(self, key: Hashable, make: Callable[[], Awaitable[C]]) -> _Entry[C]:
        if key in self._entries:
            self._end(key)
        elif len(self._entries) >= self._most:
            self._make_room()
        loop = asyncio.get_running_loop()
        entry = self._entries[key] = _Entry(loop.create_task(_made(make)), time.monotonic())
        if self._sweeping is None:
            self._sweeping = loop.call_later(self._idle_seconds, self._sweep)
        return entry

    def _make_room(self) -> None:
        unused = [key for key, entry in self._entries.items() if not entry.users]
        if not unused:
            raise ConnectionError(f"all {self._most} connections of this protocol are in use")
        self._end(min(unused, key=lambda key: self._entries[key].used))

    def _sweep(self) -> None:
        loop = asyncio.get_running_loop()
        for key, entry in list(self._entries.items()):
            if not entry.users and entry.used + self._idle_seconds <= time.monotonic():
                self._end(key)
        self._sweeping = loop.call_later(self._idle_seconds, self._sweep) if self._entries else None

    def _end(self, key: Hashable) -> None:
        task = asyncio.get_running_loop().create_task(_close(self._entries.pop(key).making))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)


class _Use(Generic[C]):
    """A class, not a generator: every delivery goes through here."""

    __slots__ = ("_arguments", "_clients", "_entry")

    def __init__(
        self, clients: Clients[C], key: Hashable, owner: str, make: Callable[[], Awaitable[C]]
    ) -> None:
        self._clients = clients
        self._arguments = (key, owner, make)

    async def __aenter__(self) -> C:
        self._entry = self._clients.hold(*self._arguments)
        if self._entry.client is not None:
            return self._entry.client
        try:
            client = self._entry.client = await asyncio.shield(self._entry.making)
        except BaseException:
            self._clients.release(self._arguments[0], self._entry)
            raise
        return client

    async def __aexit__(self, *_: object) -> None:
        self._clients.release(self._arguments[0], self._entry)


async def _made(make: Callable[[], Awaitable[C]]) -> C:
    return await make()


async def _close(making: asyncio.Task[C]) -> None:
    making.cancel()
    try:
        await asyncio.wait({making})
        if not making.cancelled() and making.exception() is None:
            await making.result().close()
    except Exception:  # noqa: BLE001  # it is gone either way, and whoever ended it has no use for the error
        _log.debug("a connection didn't end well", exc_info=True)
