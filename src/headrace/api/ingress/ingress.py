"""The data plane of a channel: events come in over HTTP, and are answered with 202 once they are durable.

Bare ASGI, because every event passes here: no routing table, no models, no request object.
"""

from __future__ import annotations

import asyncio
import re
import time
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

from headrace.api.access.gate import OPEN_GATE
from headrace.api.access.permissions import Target, publish
from headrace.api.answers.events import CLOUD_EVENT
from headrace.api.ingress.rates import Rates
from headrace.api.openapi.operation import Answer, Body
from headrace.api.problems import MEDIA_TYPE, body_of, problem
from headrace.api.routes.parameters import header
from headrace.api.routes.tags import EVENTS
from headrace.errors import (
    HeadraceError,
    InvalidEvent,
    LogUnavailable,
    NotFound,
    PayloadTooLarge,
    UnsupportedFormat,
)
from headrace.events.attributes import shown
from headrace.events.bindings.http import Mode, mode_of, read
from headrace.events.json_format import BATCH_MEDIA_TYPE
from headrace.events.json_format import MEDIA_TYPE as EVENT_MEDIA_TYPE
from headrace.events.recorded import Arrival
from headrace.heap import collector_paused
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.quotas.quotas import UNLIMITED
from headrace.telemetry.metrics import ACCEPT_SECONDS, ACCEPTED, MALFORMED, REFUSED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from headrace.api.access.gate import Gate
    from headrace.api.ingress.channels import KnownChannels
    from headrace.api.ingress.pressure import Pressure
    from headrace.api.settings import ApiSettings
    from headrace.eventlog.log import LogWriter

    Headers = list[tuple[bytes, bytes]]
    Scope = dict[str, Any]
    Receive = Callable[[], Awaitable[dict[str, Any]]]
    Send = Callable[[dict[str, Any]], Awaitable[None]]

_PATH = re.compile(r"/channels/([^/]+)/([^/]+)/?")
_HOST = re.compile(r"([^.:]+)-kn-channel\.([^.:]+)[.:]?.*")
_LONG = 1 << 18
_FREED_AT_ONCE = 5000
_EVENT_OVERHEAD = 512  # approximate bytes of an event in memory besides its data
_HEADERS = (
    header("ce-specversion", "Binary mode: required, 1.0 or 0.3."),
    header("ce-id", "Binary mode: required."),
    header("ce-source", "Binary mode: required."),
    header("ce-type", "Binary mode: required."),
    header("ce-subject", ""),
    header("ce-time", "RFC 3339."),
    header("ce-dataschema", ""),
    header("traceparent", "Passed on with the event."),
)
_BODY = Body(
    {
        EVENT_MEDIA_TYPE: CLOUD_EVENT,
        BATCH_MEDIA_TYPE: {"type": "array", "items": CLOUD_EVENT},
        "application/json": {"description": "The data of an event in binary mode."},
        "application/octet-stream": {},
    },
    required=False,
)


class ClientGone(Exception):
    """The connection was closed before the request was complete."""


class Ingress:
    """Takes events for all channels. For one event loop."""

    def __init__(
        self,
        log: LogWriter,
        channels: KnownChannels,
        pressure: Pressure,
        settings: ApiSettings,
        gate: Gate = OPEN_GATE,
        rates: Rates | None = None,
    ) -> None:
        self._log = log
        self._channels = channels
        self._pressure = pressure
        self._settings = settings
        self._gate = gate
        self._rates = rates or Rates(UNLIMITED, {})
        self._held_bytes = 0

    def address(self, scope: Scope) -> ChannelName | None:
        """Return the channel that a request addresses by its path or its Host header; None if there is none."""
        path: str = scope["path"]
        if path.startswith("/channels/"):
            found = _PATH.fullmatch(path)
            return (
                ChannelName(found[1], found[2]) if found else ChannelName(path.removeprefix("/channels/"), "")
            )
        if path in ("/", ""):
            host = next((value.lower() for name, value in scope["headers"] if name == b"host"), b"")
            if b"-kn-channel." in host:
                found = _HOST.fullmatch(host.decode("latin-1"))
                return ChannelName(found[2], found[1]) if found else None
        return None

    @EVENTS.route(
        "POST /channels/{namespace}/{name}",
        publish(Target.PATH),
        {202: Answer("Every event of the request is durable and will be routed.")},
        parameters=_HEADERS,
        body=_BODY,
        problems={404, 429, 507},
        operation="publish",
    )
    async def handle(self, channel: ChannelName, scope: Scope, receive: Receive, send: Send) -> None:
        """Take events in; 202 once they are durable.

        In binary mode attributes, extensions too, are `ce-` headers and the body is the data, of any media type; in
        structured mode the body is the event and `ce-` headers are not looked at, in batched mode an array of events,
        which are stored all or none. The same address is `/` under a `Host` of the form
        `NAME-kn-channel.NAMESPACE.…`.
        """
        if scope["method"] != "POST":
            REFUSED.labels("405").inc()
            detail = f"a channel takes events by POST, not by {scope['method']}"
            await _answer(send, 405, problem(405, "method-not-allowed", detail), {"allow": "POST"})
            return
        try:
            await self._accept(channel, scope["headers"], receive)
        except ClientGone:
            REFUSED.labels("none").inc()  # nobody is left to answer
        except HeadraceError as error:
            self._count(channel, error)
            await _answer(send, error.http_status, body_of(error), error.headers())
        except Exception:
            REFUSED.labels("500").inc()
            detail = "the service failed on this request; its log says why"
            await _answer(send, 500, problem(500, "internal", detail), {})
            raise  # the server logs it
        else:
            await _answer(send, 202, b"", {})

    async def _accept(self, channel: ChannelName, headers: Headers, receive: Receive) -> None:
        await self._gate.admit_events(channel.namespace, headers)
        if channel not in self._channels:
            raise NotFound("channel", str(channel))
        self._rates.check(channel.namespace)
        self._pressure.check()
        limit = self._limit(headers)
        chunks: list[bytes] = []
        size = 0
        try:
            while True:
                message = await receive()
                if message["type"] == "http.disconnect":
                    raise ClientGone
                chunks.append(message.get("body", b""))
                size += len(chunks[-1])
                self._hold(len(chunks[-1]))
                if size > limit:
                    raise PayloadTooLarge("the request", limit)
                if not message.get("more_body"):
                    break
            with collector_paused() if size > _LONG else nullcontext():
                await self._store(channel, headers, b"".join(chunks))
        finally:
            self._held_bytes -= size

    async def _store(self, channel: ChannelName, headers: Headers, body: bytes) -> None:
        began = time.perf_counter()
        arrivals = await self._read(channel, headers, body)
        self._rates.take(channel.namespace, len(arrivals))
        if arrivals:
            await self._log.append(arrivals, len(body) + _EVENT_OVERHEAD * len(arrivals))
        ACCEPT_SECONDS.observe(time.perf_counter() - began)
        ACCEPTED.labels(*channel).inc(len(arrivals))
        if len(body) > _LONG:
            await _let_go(arrivals)

    async def _read(self, channel: ChannelName, headers: Headers, body: bytes) -> list[Arrival]:
        """Read the events of a request. Other requests get their turn between the parts of a long one."""
        trace, largest = _trace_of(headers), self._settings.max_event_bytes
        arrivals: list[Arrival] = []
        try:
            for number, events in enumerate(read(headers, body)):
                if number:
                    await asyncio.sleep(0)
                for event in events if len(body) > largest else ():
                    if event.data is not None and len(event.data) > largest:
                        raise PayloadTooLarge(f"the data of event {shown(event.id)}", largest)
                arrivals += [Arrival(event, channel.namespace, channel.name, *trace) for event in events]
        except HeadraceError:
            await _let_go(arrivals)
            raise
        return arrivals

    def _limit(self, headers: Headers) -> int:
        """Return the size limit of a request, or raise if its headers already refuse it."""
        content_type, announced = None, 0
        for name, value in headers:
            if name == b"content-type":
                content_type = value.decode("latin-1")
            elif name == b"content-length":
                announced = int(value)
            elif name == b"content-encoding" and value.lower() != b"identity":
                raise UnsupportedFormat(f"content-encoding {value.decode('latin-1')}", ["identity"])
        is_batch = mode_of(content_type) is Mode.BATCHED
        limit = self._settings.max_batch_bytes if is_batch else self._settings.max_event_bytes
        if announced > limit:
            raise PayloadTooLarge("the request", limit)
        return limit

    def _hold(self, size: int) -> None:
        """Count the bytes of requests in memory; raise if there are too many."""
        self._held_bytes += size
        if self._held_bytes > self._settings.max_inflight_bytes:
            raise LogUnavailable(f"{self._held_bytes} bytes of requests are being read already")

    @staticmethod
    def _count(channel: ChannelName, error: HeadraceError) -> None:
        if isinstance(error, InvalidEvent):
            MALFORMED.labels(*channel).inc()
        else:
            REFUSED.labels(str(error.http_status)).inc()


async def _let_go(arrivals: list[Arrival]) -> None:
    """Free the memory of many events in parts, because hundreds of thousands take long."""
    while arrivals:
        del arrivals[-_FREED_AT_ONCE:]
        await asyncio.sleep(0)


def _trace_of(headers: Headers) -> tuple[str | None, str | None]:
    """Return traceparent and tracestate as they came; the latter may be spread over several headers."""
    parent, states = None, []
    for name, value in headers:
        if name == b"traceparent":
            parent = value.decode("latin-1")
        elif name == b"tracestate":
            states.append(value.decode("latin-1"))
    return parent, ",".join(states) if states else None


async def _answer(send: Send, status: int, body: bytes, headers: dict[str, str]) -> None:
    if body:
        headers = {"content-type": MEDIA_TYPE} | headers
    raw = [(name.encode(), value.encode()) for name, value in headers.items()]
    raw.append((b"content-length", str(len(body)).encode()))
    await send({"type": "http.response.start", "status": status, "headers": raw})
    await send({"type": "http.response.body", "body": body})
