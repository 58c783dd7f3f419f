"""The client libraries alone: the same messages, the same number under way, and nothing of Headrace around them."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import uvloop

from headrace.bench.events import bench_events
from headrace.events.bindings.http import encode_binary

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
    from contextlib import AbstractAsyncContextManager
    from multiprocessing.connection import Connection

    Send = Callable[[int], Awaitable[None]]

_EVENTS = bench_events(1000)


class Bare(NamedTuple):
    """What a library reached: messages per second of the clock and of the processor."""

    rate: float
    per_cpu_second: float


def run_bare(protocol: str, wish: Mapping[str, Any], count: int, under_way: int) -> Bare:
    """Send so many messages in a process of its own."""
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, protocol, dict(wish), count, under_way), daemon=True)
    process.start()
    there.close()
    try:
        return Bare(*here.recv())
    finally:
        process.join()


def _run(connection: Connection, protocol: str, wish: Mapping[str, Any], count: int, under_way: int) -> None:
    connection.send(uvloop.run(_measure(protocol, wish, count, under_way)))


async def _measure(
    protocol: str, wish: Mapping[str, Any], count: int, under_way: int
) -> tuple[float, float]:
    async with _LOOPS[protocol](wish) as send:
        await _send_all(send, count // 10, under_way)  # connections are made, code is warm
        began, used = time.perf_counter(), time.process_time()
        await _send_all(send, count, under_way)
        return count / (time.perf_counter() - began), count / (time.process_time() - used)


async def _send_all(send: Send, count: int, under_way: int) -> None:
    messages = iter(range(count))

    async def work() -> None:
        for number in messages:
            await send(number)

    await asyncio.gather(*(work() for _ in range(under_way)))


@asynccontextmanager
async def _http(wish: Mapping[str, Any]) -> AsyncIterator[Send]:
    import aiohttp

    messages = [encode_binary(event) for event in _EVENTS]
    connector = aiohttp.TCPConnector(limit=0)
    async with aiohttp.ClientSession(connector=connector) as session:

        async def send(number: int) -> None:
            message = messages[number % len(messages)]
            async with session.post(wish["sink"], data=message.body, headers=message.headers) as answer:
                if answer.status != 200:
                    raise RuntimeError(f"the sink answered {answer.status}")

        yield send


_LOOPS: dict[str, Callable[[Mapping[str, Any]], AbstractAsyncContextManager[Send]]] = {"HTTP": _http}
