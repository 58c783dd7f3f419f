"""HTTP/2 for servers that offer it: httpcore2, with its connections through the guard.

Whether a server offers it is found out by a handshake of TLS (ALPN), and remembered for a while. Each server has a line
of its own; one on which an answer failed, or was too long to be read, takes no more requests and closes after its last.
"""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import h2  # noqa: F401 -- httpcore2 itself looks for it only when a connection is made
import httpcore2
from httpcore2 import AnyIOBackend, AsyncNetworkBackend

from headrace.delivery.protocols.http.answers import Answer
from headrace.delivery.protocols.questions import Questions
from headrace.delivery.sinks.tls import tls_context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.delivery.protocols.http.requests import Request
    from headrace.delivery.sinks.guard import Guard

_REMEMBERED_SECONDS = 600.0
_IDLE_SECONDS = 60.0
_MOST_KNOWN = 10_000
_ALPN = ("h2", "http/1.1")
_Origin = tuple[str, int]


@dataclass(slots=True)
class _Line:
    """The connections to one server."""

    pool: httpcore2.AsyncConnectionPool
    network: _GuardedBackend
    users: int = 0
    used_at: float = 0.0
    retired: bool = False

    async def close(self) -> None:
        await self.pool.aclose()
        await self.network.close()


class Http2:
    """For one event loop."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._asking_tls = tls_context(ca_file, _ALPN)
        self._tls = tls_context(ca_file)  # httpcore2 writes its own ALPN into it
        self._known: dict[_Origin, tuple[bool, float]] = {}
        self._questions: Questions[bool] = Questions()
        self._lines: dict[_Origin, _Line] = {}

    async def is_offered(self, origin: _Origin, deadline: float) -> bool:
        """Tell whether the server speaks HTTP/2; errors of connecting are for whoever sends the request."""
        offered, until = self._known.get(origin, (False, 0.0))
        if until > time.monotonic():
            return offered
        try:
            async with asyncio.timeout_at(deadline):
                return await self._questions.ask(origin, lambda: self._ask(origin, deadline))
        except OSError:  # of TLS and of time as well
            return False

    async def exchange(self, origin: _Origin, request: Request, limit: int, deadline: float) -> Answer:
        """Send a request and read the answer up to the limit. Whatever goes wrong is an OSError.

        Servers end a connection after so many requests, whatever is under way on it. So what fails on one that has
        worked before is sent once more on a new one.
        """
        line = await self._line(origin)
        worked = line.used_at > 0
        try:
            return await _converse_on(line, request, limit, deadline)
        except ConnectionError:
            if not worked:
                raise
        return await _converse_on(await self._line(origin), request, limit, deadline)

    async def close(self) -> None:
        """Close the connections."""
        await self._questions.close()
        lines, self._lines = list(self._lines.values()), {}
        for line in lines:
            await line.close()

    async def _ask(self, origin: _Origin, deadline: float) -> bool:
        loop = asyncio.get_running_loop()
        async with asyncio.timeout_at(deadline):
            made = await self._guard.connect(*origin, max(deadline - loop.time(), 0.0))
            transport, _ = await loop.create_connection(
                asyncio.Protocol, sock=made, ssl=self._asking_tls, server_hostname=origin[0]
            )
        offered = bool(transport.get_extra_info("ssl_object").selected_alpn_protocol() == "h2")
        transport.abort()
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[origin] = (offered, time.monotonic() + _REMEMBERED_SECONDS)
        return offered

    async def _line(self, origin: _Origin) -> _Line:
        line = self._lines.get(origin)
        if line is None or line.retired:
            line = self._lines[origin] = self._new_line()
            await self._close_idle()
        return line

    def _new_line(self) -> _Line:
        network = _GuardedBackend(self._guard)
        pool = httpcore2.AsyncConnectionPool(
            ssl_context=self._tls,
            max_connections=None,
            http1=True,  # should the server have changed its mind
            http2=True,
            network_backend=network,
        )
        return _Line(pool, network)

    async def _close_idle(self) -> None:
        old = time.monotonic() - _IDLE_SECONDS
        idle = [origin for origin, line in self._lines.items() if not line.users and 0 < line.used_at < old]
        for origin in idle:
            await self._lines.pop(origin).close()


class _GuardedBackend(AsyncNetworkBackend):
    """Connects to addresses that were checked, never to names; TLS still verifies the name.

    It remembers what it opened: httpcore2 forgets a connection that breaks in the middle of its handshake.
    """

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = AnyIOBackend()
        self._opened: list[httpcore2.AsyncNetworkStream] = []

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore2's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.AsyncNetworkStream:
        *others, last = await self._guard.resolve(host, port)
        options = (port, timeout, local_address, socket_options)
        for address in others:
            try:
                return self._note(await self._network.connect_tcp(address.host, *options))
            except httpcore2.ConnectError:
                continue
        return self._note(await self._network.connect_tcp(last.host, *options))

    async def close(self) -> None:
        opened, self._opened = self._opened, []
        for stream in opened:
            await stream.aclose()

    def _note(self, stream: httpcore2.AsyncNetworkStream) -> httpcore2.AsyncNetworkStream:
        self._opened.append(stream)
        return stream

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


async def _converse_on(line: _Line, request: Request, limit: int, deadline: float) -> Answer:
    line.users += 1
    whole = False
    try:
        answer = await _converse(line.pool, request, limit, deadline)
        whole = answer.whole
    except (httpcore2.NetworkError, httpcore2.ProtocolError) as error:
        raise ConnectionError(f"{type(error).__name__}: {error}") from None
    else:
        return answer
    finally:
        line.users -= 1
        line.used_at = time.monotonic()
        line.retired = line.retired or not whole
        if line.retired and not line.users:
            await line.close()


async def _converse(
    pool: httpcore2.AsyncConnectionPool, request: Request, limit: int, deadline: float
) -> Answer:
    url = httpcore2.URL(request.uri)
    headers = [
        (b"host", _authority(url)),
        (b"content-length", str(len(request.body)).encode()),
        *((name.lower().encode("latin-1"), value.encode()) for name, value in request.headers),
    ]
    sent = httpcore2.Request(request.method, url, headers=headers, content=request.body)
    async with asyncio.timeout_at(deadline):
        response = await pool.handle_async_request(sent)
    try:
        body, whole = await _read(response, limit, deadline)
        return Answer(response.status, response.headers, body, whole)
    finally:
        await response.aclose()


def _authority(url: httpcore2.URL) -> bytes:
    host = b"[" + url.host + b"]" if b":" in url.host else url.host
    return host if url.port in (None, 443) else b"%b:%d" % (host, url.port)


async def _read(response: httpcore2.Response, limit: int, deadline: float) -> tuple[bytes, bool]:
    """Read up to the limit and a byte; whatever breaks then doesn't change the status that was read before."""
    body = b""
    try:
        async with asyncio.timeout_at(deadline):
            async for chunk in response.aiter_stream():
                body += chunk
                if len(body) > limit:
                    return body[: limit + 1], False
    except (httpcore2.NetworkError, httpcore2.ProtocolError, TimeoutError):
        return body, False
    return body, True
