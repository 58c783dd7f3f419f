"""Sinks in a process of their own, so that what they cost is not counted as the dispatcher's."""

from __future__ import annotations

import asyncio
import multiprocessing
from contextlib import contextmanager
from typing import TYPE_CHECKING

import uvloop

from headrace_bench.quick_sink import QuickSink

if TYPE_CHECKING:
    from collections.abc import Iterator
    from multiprocessing.connection import Connection


@contextmanager
def sinks() -> Iterator[tuple[str, str]]:
    """Run two and return their addresses: one answers at once, the other takes connections and says nothing."""
    with _running(0.0) as addresses:
        yield addresses


@contextmanager
def slow_sink(seconds: float) -> Iterator[str]:
    """Run one that answers after so many seconds, and return its address."""
    with _running(seconds) as (address, _):
        yield address


@contextmanager
def _running(seconds: float) -> Iterator[tuple[str, str]]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(target=_run, args=(there, seconds), daemon=True)
    process.start()
    try:
        yield here.recv()
    finally:
        process.terminate()
        process.join()


def _run(connection: Connection, seconds: float) -> None:
    uvloop.run(_serve(connection, seconds))


async def _serve(connection: Connection, seconds: float) -> None:
    silent = await asyncio.start_server(_say_nothing, "127.0.0.1", 0, backlog=1024)
    async with QuickSink(lambda *_: None, seconds) as quick, silent:
        port = silent.sockets[0].getsockname()[1]
        connection.send((quick.url, f"http://127.0.0.1:{port}"))
        await asyncio.Event().wait()


async def _say_nothing(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while await reader.read(1 << 16):
            pass
    except ConnectionError:
        pass
    finally:
        writer.close()
