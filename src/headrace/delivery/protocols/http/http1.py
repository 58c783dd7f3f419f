"""HTTP/1.1 to sinks: connections that the guard made, kept and used again, each for one request at a time.

A library would spend more on a request than all of the rest of a delivery does (ADR 0034).
"""

from __future__ import annotations

import asyncio
import re
import time
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, Protocol
from urllib.parse import quote, urlsplit

import idna

from headrace.delivery.protocols.http.connection import Connection
from headrace.delivery.queue.turns import TurnLimiter

if TYPE_CHECKING:
    import socket
    import ssl

    from headrace.delivery.protocols.http.answers import Answer
    from headrace.delivery.protocols.http.requests import Request

_DEFAULT_PORTS = {"http": 80, "https": 443}
_IDLE_SECONDS = 15.0
_SWEEP_SECONDS = 5.0
# So many new connections begin in each turn of the event loop, and so many are given up as too late: a crowd of them,
# of sinks that hang, leaves room for deliveries.
_AT_A_TIME = 4
# Where it isn't quoted already: what may stand in a path and a query.
_SAFE = "%/:?#[]@!$&'()*+,;=~-._"
_FORBIDDEN = re.compile(r"[\r\n\0]")
_OWN_HEADERS = frozenset({"content-length", "transfer-encoding", "connection"})
_HAS_LENGTH = frozenset({"POST", "PUT", "PATCH"})


class InvalidAddress(ValueError):
    """Nobody can be reached at an address of this form."""


class Origin(NamedTuple):
    """A server: connections to it are shared."""

    scheme: str
    host: str
    port: int


class Connector(Protocol):
    """Who makes connections: the guard, or what stands before it."""

    async def connect(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ASYNC109
        """Return a connected socket that doesn't block."""
        ...


class Http1:
    """For one event loop."""

    def __init__(self, guard: Connector, tls: ssl.SSLContext) -> None:
        self._guard = guard
        self._tls = tls
        self._idle: dict[Origin, list[Connection]] = {}
        self._busy: set[Connection] = set()
        self._beginnings = TurnLimiter(_AT_A_TIME)
        self._lates = TurnLimiter(_AT_A_TIME)
        self._sweeping: asyncio.TimerHandle | None = None
        self._is_closed = False

    async def exchange(self, request: Request, limit: int, deadline: float) -> Answer:
        """Send a request and read the answer up to the limit and a byte. Raise OSError, ValueError or TimeoutError.

        A server may end a connection that was kept at the moment of its next use: then the request goes once more, on a
        new one.
        """
        origin, start = address_of(request.method, request.uri)
        parts = [_head(request, start), request.body] if request.body else [_head(request, start)]
        connection = self._kept(origin)
        if connection is not None:
            try:
                return await self._exchange_on(connection, origin, parts, limit, deadline)
            except ConnectionError:
                if connection.heard:
                    raise
        deadline += await self._beginnings.turn()  # the time of an attempt is the sink's
        connection = await self._connect(origin, deadline)
        return await self._exchange_on(connection, origin, parts, limit, deadline)

    async def close(self) -> None:
        """End all connections, those in use too."""
        self._is_closed = True
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in [*self._busy, *(each for kept in self._idle.values() for each in kept)]:
            connection.close()
        self._idle.clear()
        await asyncio.sleep(0)  # transports end in the next turn

    async def _exchange_on(
        self, connection: Connection, origin: Origin, parts: list[bytes], limit: int, deadline: float
    ) -> Answer:
        self._busy.add(connection)
        try:
            return await connection.exchange(parts, limit, deadline)
        finally:
            self._busy.discard(connection)
            if connection.usable and not self._is_closed:
                self._keep(origin, connection)
            else:
                connection.close()

    def _kept(self, origin: Origin) -> Connection | None:
        kept = self._idle.get(origin)
        while kept:
            connection = kept.pop()
            if connection.usable:
                return connection
        return None

    def _keep(self, origin: Origin, connection: Connection) -> None:
        connection.used_at = time.monotonic()
        self._idle.setdefault(origin, []).append(connection)
        if self._sweeping is None:
            self._sweeping = asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        """Close what wasn't used for a while; the oldest come first."""
        before = time.monotonic() - _IDLE_SECONDS
        for origin, kept in list(self._idle.items()):
            for connection in kept:
                if connection.used_at < before:
                    connection.close()
            self._idle[origin] = [each for each in kept if each.usable]
            if not self._idle[origin]:
                del self._idle[origin]
        self._sweeping = (
            asyncio.get_running_loop().call_later(_SWEEP_SECONDS, self._sweep) if self._idle else None
        )

    async def _connect(self, origin: Origin, deadline: float) -> Connection:
        loop = asyncio.get_running_loop()
        is_secure = origin.scheme == "https"
        async with asyncio.timeout_at(deadline):
            connected = await self._guard.connect(origin.host, origin.port, max(deadline - loop.time(), 0.0))
            try:
                _, connection = await loop.create_connection(
                    lambda: Connection(loop, self._lates),
                    sock=connected,
                    ssl=self._tls if is_secure else None,
                    server_hostname=origin.host if is_secure else None,
                )
            except BaseException:
                connected.close()
                raise
        if self._is_closed:
            connection.close()
            raise ConnectionError("deliveries have been stopped here")
        return connection


@lru_cache(4096)
def address_of(method: str, uri: str) -> tuple[Origin, str]:
    """Return the server of a URI, and how a request for it begins. Raise InvalidAddress."""
    try:
        parts = urlsplit(uri)
        host = ascii_host(parts.hostname or "")
        origin = Origin(parts.scheme, host, parts.port or _DEFAULT_PORTS[parts.scheme])
    except (ValueError, KeyError) as error:
        raise InvalidAddress(f"{error}") from None
    if not host or _FORBIDDEN.search(uri) or " " in uri:
        raise InvalidAddress("it has no host, or signs that no address has")
    path = quote(parts.path or "/", _SAFE) + (f"?{quote(parts.query, _SAFE)}" if parts.query else "")
    name = f"[{host}]" if ":" in host else host
    shown = name if origin.port == _DEFAULT_PORTS[origin.scheme] else f"{name}:{origin.port}"
    return origin, f"{method} {path} HTTP/1.1\r\nHost: {shown}\r\n"


def ascii_host(host: str) -> str:
    """Return a host name as the domain name system has it (IDNA 2008, as browsers prepare it). Raise ValueError."""
    return host if host.isascii() else idna.encode(host, uts46=True).decode()


def _head(request: Request, start: str) -> bytes:
    lines = [f"{name}: {value}\r\n" for name, value in request.headers if name.lower() not in _OWN_HEADERS]
    if request.body or request.method in _HAS_LENGTH:
        lines.append(f"Content-Length: {len(request.body)}\r\n")
    text = "".join(lines)
    if not text.count("\n") == text.count("\r") == len(lines) or "\0" in text:
        raise ValueError("a header has a line break or a NUL in it")
    return f"{start}{text}\r\n".encode()
