"""A producer that costs as little as possible, so that the service is what is measured.

Requests are encoded before the clock starts; each connection sends one and waits for its answer.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.events.bindings.http import HttpMessage


def encode_request(message: HttpMessage, host: str, channel: str = "default/default") -> bytes:
    """Write the whole request as bytes."""
    lines = [f"POST /channels/{channel} HTTP/1.1", f"host: {host}", f"content-length: {len(message.body)}"]
    lines += [f"{name}: {value}" for name, value in message.headers]
    return "\r\n".join([*lines, "", ""]).encode() + message.body


class Connection(asyncio.Protocol):
    """One keep-alive connection; `post` returns the status of the answer."""

    def __init__(self) -> None:
        self._buffer = b""
        self._answer: asyncio.Future[int] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def open(cls, host: str, port: int) -> Connection:
        """Connect."""
        _, protocol = await asyncio.get_running_loop().create_connection(cls, host, port)
        return protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Take the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is one in all but its bases

    def data_received(self, data: bytes) -> None:
        """Look for the end of the answer."""
        self._buffer += data
        head, end, rest = self._buffer.partition(b"\r\n\r\n")
        if not end:
            return
        length = _content_length(head)
        if len(rest) >= length and self._answer is not None and not self._answer.done():
            self._buffer = rest[length:]
            self._answer.set_result(int(head[9:12]))

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell who waits."""
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(exc or ConnectionResetError("the service closed the connection"))

    async def post(self, request: bytes) -> int:
        """Send a request and wait for the status."""
        assert self._transport is not None  # noqa: S101  open() comes first
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write(request)
        return await self._answer

    @property
    def is_open(self) -> bool:
        """Whether requests can be sent."""
        return self._transport is not None and not self._transport.is_closing()

    def close(self) -> None:
        """Hang up."""
        if self._transport is not None:
            self._transport.close()


async def saturate(
    host: str, port: int, connections: int, seconds: float, requests: Iterator[bytes], wanted: int = 202
) -> tuple[list[float], int]:
    """Ask as fast as answers come, over several connections; return latencies, and how many got another status."""
    latencies: list[float] = []
    refused = 0
    deadline = time.perf_counter() + seconds

    async def produce() -> None:
        nonlocal refused
        connection = await Connection.open(host, port)
        while (began := time.perf_counter()) < deadline:
            status = await connection.post(next(requests))
            if status == wanted:
                latencies.append(time.perf_counter() - began)
            else:
                refused += 1
        connection.close()

    await asyncio.gather(*(produce() for _ in range(connections)))
    return latencies, refused


async def fill(host: str, port: int, connections: int, requests: Iterator[bytes]) -> None:
    """Post all requests as fast as answers come, over several connections; each again until it is accepted."""

    async def produce() -> None:
        connection = await Connection.open(host, port)
        for request in requests:
            while await connection.post(request) != 202:  # noqa: ASYNC110  the service says when, not an event
                await asyncio.sleep(0.05)
        connection.close()

    await asyncio.gather(*(produce() for _ in range(connections)))


async def pace(
    host: str,
    port: int,
    rate: float,
    requests: Iterator[bytes],
    count: int,
    on_sent: Callable[[int, float], None],
) -> list[float]:
    """Post so many requests at a steady rate, whatever the answers do; return latencies of 202s.

    Each request has its planned time, and latency counts from there: a stall is not hidden by sending later.
    """
    # The one that was idle longest goes first: none is idle until the service closes it.
    idle: deque[Connection] = deque()
    latencies: list[float] = []

    async def send(number: int, planned: float) -> None:
        while idle and not idle[0].is_open:
            idle.popleft()
        connection = idle.popleft() if idle else await Connection.open(host, port)
        on_sent(number, planned)
        try:
            status = await connection.post(next(requests))
        except ConnectionError:
            return  # a request without an answer is missing among the latencies
        if status == 202:
            latencies.append(time.time() - planned)
        idle.append(connection)

    began = time.time()
    async with asyncio.TaskGroup() as sending:
        for number in range(count):
            planned = began + number / rate
            await asyncio.sleep(max(planned - time.time(), 0))
            sending.create_task(send(number, planned))
    for connection in idle:
        connection.close()
    return latencies


def _content_length(head: bytes) -> int:
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return int(value)
    return 0
