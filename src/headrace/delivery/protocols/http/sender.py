"""Delivery over HTTP: no redirects, a bounded look at the answer, and every connection through the guard.

HTTP/1.1 is spoken by `http1.py`, HTTP/2 by `http2.py` where a server of https offers it and the extra is installed.
Connections are shared by all subscriptions of a host: what is a subscription's own goes along with each request.
"""

from __future__ import annotations

import asyncio
import socket
from functools import cached_property
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.http.answers import Answer, judge, most_bytes
from headrace.delivery.protocols.http.http1 import Http1, InvalidAddress
from headrace.delivery.protocols.http.requests import requests_for
from headrace.delivery.protocols.http.webhooks import Consents
from headrace.delivery.sinks.guard import refusal
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefusedAddress

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.protocols.http.http2 import Http2
    from headrace.delivery.protocols.http.requests import Request
    from headrace.delivery.sinks.callbacks import Callbacks
    from headrace.delivery.sinks.guard import Guard

_DEFAULT_PORTS = {"http": 80, "https": 443}


class HttpSender:
    """For one event loop. `origin` is the name it gives itself when it asks a web hook for consent.

    `callbacks` has the addresses by which web hooks may agree later; without it they can't.
    """

    def __init__(
        self, guard: Guard, ca_file: str = "", origin: str = "", callbacks: Callbacks | None = None
    ) -> None:
        self._guard = guard
        self._ca_file = ca_file
        self._http1 = Http1(guard, tls_context(ca_file))
        self._is_closed = False
        self._consents = Consents(self._exchange, origin or socket.gethostname(), callbacks)

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt."""
        if self._is_closed:
            return Outcome(Verdict.AGAIN, "deliveries have been stopped here")
        try:
            return await self._send(target, payloads)
        except RefusedAddress as error:
            return refusal(error)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no answer within {target.timeout:g} s")
        except InvalidAddress as error:
            return Outcome(Verdict.NEVER, f"{target.uri!r} can't be used as an address: {error}")
        except (OSError, ValueError) as error:
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def forget(self, owner: str) -> None:
        """Keep the connections: none belongs to one subscription."""

    async def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        await self._consents.close()
        http2 = self.__dict__.pop("_http2", None)  # made only if something went over https
        if http2 is not None:
            await http2.close()
        await self._http1.close()

    async def _send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        deadline = asyncio.get_running_loop().time() + target.timeout
        if target.credential is not None and (held := await self._unsafe(target, deadline)) is not None:
            return held
        if target.settings.get("webhook"):
            held = await self._consents.wait_for(target, deadline)
            if held is not None:
                return held
        wants_reply = target.wants_reply
        outcome = Outcome(Verdict.DONE)
        for request in requests_for(target, payloads):
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
            addresses = await self._guard.resolve(*_origin(target.uri))
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
            from headrace.delivery.protocols.http.http2 import Http2  # optional dependency
        except ImportError:
            return None
        return Http2(self._guard, self._ca_file)

    async def _exchange(self, request: Request, limit: int, deadline: float) -> Answer:
        if request.uri.startswith("https:") and self._http2 is not None:
            origin = _origin(request.uri)
            if await self._http2.is_offered(origin, deadline):
                return await self._http2.exchange(origin, request, limit, deadline)
        return await self._http1.exchange(request, limit, deadline)


def _origin(uri: str) -> tuple[str, int]:
    parts = urlsplit(uri)
    return parts.hostname or "", parts.port or _DEFAULT_PORTS[parts.scheme]
