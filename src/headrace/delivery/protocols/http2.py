"""HTTP/2 for servers that offer it: httpcore, with its connections through the guard.

Whether a server offers it is found out by a handshake of TLS (ALPN), and remembered for a while.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

import httpcore
from httpcore import AnyIOBackend, AsyncNetworkBackend

from headrace.delivery.protocols.http_answers import Answer
from headrace.delivery.tls import tls_context

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.delivery.guard import Guard
    from headrace.delivery.protocols.http_requests import Request

_REMEMBERED_SECONDS = 600.0
_MOST_KNOWN = 10_000
_ALPN = ("h2", "http/1.1")


class Http2:
    """For one event loop."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._tls = tls_context(ca_file, _ALPN)
        self._known: dict[tuple[str, int], tuple[bool, float]] = {}
        self._asking: dict[tuple[str, int], asyncio.Lock] = {}
        self._pool = httpcore.AsyncConnectionPool(
            ssl_context=tls_context(ca_file),  # httpcore writes its own ALPN into it
            max_connections=None,
            keepalive_expiry=60.0,
            http1=True,  # should a server have changed its mind
            http2=True,
            network_backend=_GuardedBackend(guard),
        )

    async def is_offered(self, host: str, port: int, timeout: float) -> bool:  # noqa: ASYNC109
        """Tell whether the server speaks HTTP/2; errors of connecting are for whoever sends the request."""
        place = (host, port)
        if (known := self._recall(place)) is not None:
            return known
        async with self._asking.setdefault(place, asyncio.Lock()):
            known = self._recall(place)
            if known is None:
                try:
                    async with asyncio.timeout(timeout):
                        known = await self._ask(host, port)
                except OSError:  # of TLS and of time as well
                    return False
                if len(self._known) >= _MOST_KNOWN:
                    self._known.clear()
                self._known[place] = (known, time.monotonic() + _REMEMBERED_SECONDS)
        self._asking.pop(place, None)
        return known

    async def exchange(self, request: Request, limit: int) -> Answer:
        """Send a request and read the answer up to the limit. Whatever goes wrong is an OSError."""
        try:
            async with (
                asyncio.timeout(request.timeout),
                self._pool.stream(
                    request.method,
                    request.uri,
                    headers=_headers(request),
                    content=request.body,
                ) as response,
            ):
                body, whole = await _read(response, limit)
                return Answer(response.status, response.headers, body, whole)
        except httpcore.TimeoutException as error:
            raise TimeoutError(str(error)) from None
        except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.ConnectionNotAvailable) as error:
            raise ConnectionError(f"{type(error).__name__}: {error}") from None

    async def close(self) -> None:
        """Close the connections."""
        await self._pool.aclose()

    def _recall(self, place: tuple[str, int]) -> bool | None:
        offered, until = self._known.get(place, (False, 0.0))
        return offered if until > time.monotonic() else None

    async def _ask(self, host: str, port: int) -> bool:
        made = await self._guard.connect(host, port, _REMEMBERED_SECONDS)
        transport, _ = await asyncio.get_running_loop().create_connection(
            asyncio.Protocol, sock=made, ssl=self._tls, server_hostname=host
        )
        try:
            return bool(transport.get_extra_info("ssl_object").selected_alpn_protocol() == "h2")
        finally:
            transport.abort()


class _GuardedBackend(AsyncNetworkBackend):
    """Connects to addresses that were checked, never to names; TLS still verifies the name."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self._network = AnyIOBackend()

    async def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,  # noqa: ASYNC109 -- httpcore's signature
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.AsyncNetworkStream:
        addresses = await self._guard.resolve(host, port)
        for address in addresses[:-1]:
            try:
                return await self._network.connect_tcp(
                    address.host, port, timeout, local_address, socket_options
                )
            except (httpcore.ConnectError, httpcore.ConnectTimeout):
                continue
        return await self._network.connect_tcp(
            addresses[-1].host, port, timeout, local_address, socket_options
        )

    async def sleep(self, seconds: float) -> None:
        await self._network.sleep(seconds)


def _headers(request: Request) -> list[tuple[bytes, bytes]]:
    return [
        *((name.lower().encode("latin-1"), value.encode()) for name, value in request.headers),
        (b"content-length", str(len(request.body)).encode()),
    ]


async def _read(response: httpcore.Response, limit: int) -> tuple[bytes, bool]:
    body = b""
    try:
        async for chunk in response.aiter_stream():
            body += chunk
            if len(body) > limit:
                return body[: limit + 1], False
    except (httpcore.NetworkError, httpcore.ProtocolError, httpcore.TimeoutException):
        return body, False
    return body, True
