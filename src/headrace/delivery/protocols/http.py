"""Delivery over HTTP: no redirects, a bounded look at the answer, and every connection through the guard.

HTTP/1.1 is spoken by aiohttp, HTTP/2 by `http2.py` where a server of https offers it and the extra is installed.
Connections are shared by all subscriptions of a host: what is a subscription's own goes along with each request.
"""

from __future__ import annotations

import asyncio
import socket
from functools import cached_property
from io import BytesIO
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
from aiohttp.abc import AbstractResolver, ResolveResult

from headrace.delivery.guard import refusal
from headrace.delivery.outcome import Outcome, Verdict
from headrace.delivery.protocols.http_answers import Answer, judge, most_bytes
from headrace.delivery.protocols.http_requests import requests_for
from headrace.delivery.protocols.webhooks import Consents
from headrace.delivery.tls import tls_context
from headrace.errors import RefusedAddress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.guard import Guard
    from headrace.delivery.parcel import Parcel
    from headrace.delivery.protocols.http2 import Http2
    from headrace.delivery.protocols.http_requests import Request
    from headrace.delivery.target import Target

_LARGE = 1 << 20
_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpSender:
    """For one event loop. `origin` is the name it gives itself when it asks a web hook for consent."""

    def __init__(self, guard: Guard, ca_file: str = "", origin: str = "") -> None:
        self._guard = guard
        self._ca_file = ca_file
        self._session = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=0,
                resolver=_GuardedResolver(guard),
                # The resolver isn't asked about addresses; this is, for every connection.
                socket_factory=lambda info: _checked_socket(guard, info),
                ssl=tls_context(ca_file),
            ),
            # An event must not gain a content type it did not have.
            skip_auto_headers=("Content-Type", "User-Agent", "Accept-Encoding", "Accept"),
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,  # a broken or exploding encoding must not hide the answer's status
            trust_env=False,
        )
        self._consents = Consents(self._exchange, origin or socket.gethostname())

    async def send(self, target: Target, parcels: Sequence[Parcel]) -> Outcome:
        """Make one attempt."""
        if self._session.closed:
            return Outcome(Verdict.AGAIN, "deliveries have been stopped here")
        try:
            return await self._send(target, parcels)
        except RefusedAddress as error:
            return refusal(error)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no answer within {target.timeout:g} s")
        except aiohttp.InvalidUrlClientError as error:
            return Outcome(Verdict.NEVER, f"{target.uri!r} can't be used as an address: {error}")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def forget(self, owner: str) -> None:
        """Keep the connections: none belongs to one subscription."""

    async def close(self) -> None:
        """Close the connections."""
        await self._consents.close()
        http2 = self.__dict__.pop("_http2", None)  # made only if something went over https
        if http2 is not None:
            await http2.close()
        await self._session.close()

    async def _send(self, target: Target, parcels: Sequence[Parcel]) -> Outcome:
        deadline = asyncio.get_running_loop().time() + target.timeout
        if target.credential is not None and (held := await self._unsafe(target, deadline)) is not None:
            return held
        if target.settings.get("webhook"):
            held = await self._consents.wait_for(target, deadline)
            if held is not None:
                return held
        wants_reply = target.wants_reply
        outcome = Outcome(Verdict.DONE)
        for request in requests_for(target, parcels):
            answer = await self._exchange(request, most_bytes(wants_reply=wants_reply), deadline)
            outcome = judge(answer, wants_reply=wants_reply)
            if outcome.verdict is not Verdict.DONE:
                break
        return outcome

    async def _unsafe(self, target: Target, deadline: float) -> Outcome | None:
        """Keep credentials from networks that nobody vouches for: they go by TLS, or where an operator allows it."""
        if not target.uri.startswith("http:"):
            return None
        async with asyncio.timeout_at(deadline):
            addresses = await self._guard.resolve(*_place(target.uri))
        for address in addresses:
            if self._guard.is_public(address.host):
                return Outcome(
                    Verdict.NEVER,
                    f"a credential is not sent over plain HTTP to {address.host}, a public address; use https",
                )
        return None

    @cached_property
    def _http2(self) -> Http2 | None:
        try:
            from headrace.delivery.protocols.http2 import Http2  # optional dependency
        except ImportError:
            return None
        return Http2(self._guard, self._ca_file)

    async def _exchange(self, request: Request, limit: int, deadline: float) -> Answer:
        if request.uri.startswith("https:") and self._http2 is not None:
            place = _place(request.uri)
            if await self._http2.is_offered(place, deadline):
                return await self._http2.exchange(place, request, limit, deadline)
        left = deadline - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError
        async with self._session.request(
            request.method,
            request.uri,
            data=_payload(request.body),
            headers=request.headers,
            allow_redirects=False,
            timeout=aiohttp.ClientTimeout(total=left),
        ) as response:
            body, whole = await _read(response.content, limit)  # leaving closes what was not read to its end
            return Answer(response.status, response.raw_headers, body, whole)


class _GuardedResolver(AbstractResolver):
    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host,
                host=address.host,
                port=port,
                family=address.family,
                proto=0,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in await self._guard.resolve(host, port)
            if family in (socket.AF_UNSPEC, address.family)
        ]

    async def close(self) -> None:
        pass


def _checked_socket(guard: Guard, info: tuple[Any, ...]) -> socket.socket:
    family, kind, protocol, _, sockaddr = info
    guard.check(sockaddr[0])
    return socket.socket(family, kind, protocol)


def _place(uri: str) -> tuple[str, int]:
    parts = urlsplit(uri)
    return parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]


async def _read(content: aiohttp.StreamReader, limit: int) -> tuple[bytes, bool]:
    """Read up to the limit and a byte; whatever breaks then doesn't change the status that was read before."""
    body = b""
    try:
        while len(body) <= limit:
            chunk = await content.read(limit + 1 - len(body))
            if not chunk:
                return body, True
            body += chunk
    except (aiohttp.ClientError, OSError):  # TimeoutError is one
        pass
    return body, False


def _payload(body: bytes) -> bytes | BytesIO:
    """Make it a file where it is large: bytes are written in one go, which would hold the event loop."""
    return body if len(body) < _LARGE else BytesIO(body)
