"""A local sink: an HTTP server that receives deliveries."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

from aiohttp import web

from headrace.delivery.sinks.signatures import signature_problem
from headrace.errors import HeadraceError
from headrace.events.bindings.http import decode

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.events.event import Event


@dataclass(frozen=True, slots=True)
class Received:
    """A received delivery; `time` is in seconds since the epoch."""

    path: str
    time: float
    event: Event
    headers: Mapping[str, str]


class Sink:
    """An async context manager; `on_received` is called for each event and may return the status of the answer.

    With a `key` (`whsec_…` or `whpk_…`), deliveries that are not signed with it are refused with 401.
    """

    def __init__(
        self,
        on_received: Callable[[Received], int | None],
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        key: str = "",
    ) -> None:
        self._key = key
        self._on_received = on_received
        self._host = host
        self._port = port
        self._runner: web.AppRunner | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        if self._runner is None:
            raise RuntimeError("use the sink as `async with Sink(…) as sink`")
        host, port = self._runner.addresses[0][:2]
        return f"http://{host}:{port}"

    async def __aenter__(self) -> Self:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None)
        await self._runner.setup()
        await web.TCPSite(self._runner, self._host, self._port, backlog=1024).start()
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _handle(self, request: web.Request) -> web.Response:
        body = await request.read()
        now = time.time()
        if self._key and (problem := signature_problem(self._key, request.headers, body, now)):
            return web.Response(status=401, text=problem)
        try:
            events = decode(request.raw_headers, body)
        except HeadraceError as error:
            return web.Response(status=400, text=str(error))
        status = 200
        for event in events:
            status = self._on_received(Received(request.path, now, event, request.headers)) or status
        return web.Response(status=status)
