"""A sink that costs as little as possible: it notes when each event id arrived, and answers 200."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Self, cast

import httptools

if TYPE_CHECKING:
    from collections.abc import Callable

_ANSWER = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n"


class QuickSink:
    """An async context manager; `on_event` gets the event's id and the time of its arrival.

    It answers after `delay` seconds.
    """

    def __init__(self, on_event: Callable[[str, float], None], delay: float = 0.0) -> None:
        self._on_event = on_event
        self._delay = delay
        self._server: asyncio.Server | None = None

    @property
    def url(self) -> str:
        """Where it listens."""
        assert self._server is not None  # noqa: S101  it is used inside the context
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def __aenter__(self) -> Self:
        loop = asyncio.get_running_loop()
        self._server = await loop.create_server(
            lambda: _Answering(self._on_event, self._delay), "127.0.0.1", 0, backlog=1024
        )
        return self

    async def __aexit__(self, *_: object) -> None:
        if self._server is not None:
            self._server.close()


class _Answering(asyncio.Protocol):
    def __init__(self, on_event: Callable[[str, float], None], delay: float) -> None:
        self._on_event = on_event
        self._delay = delay
        self._parser = httptools.HttpRequestParser(self)
        self._id = ""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its bases

    def data_received(self, data: bytes) -> None:
        self._parser.feed_data(data)

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"ce-id":
            self._id = value.decode()

    def on_message_complete(self) -> None:
        self._on_event(self._id, time.time())
        if self._delay:
            asyncio.get_running_loop().call_later(self._delay, self._transport.write, _ANSWER)
        else:
            self._transport.write(_ANSWER)
