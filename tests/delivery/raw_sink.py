"""A sink on a real socket that keeps every byte it got and answers with the bytes it is told to."""

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, slots=True)
class Request:
    method: str
    target: str
    headers: list[tuple[str, str]]
    body: bytes

    def values(self, name: str) -> list[str]:
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def __getitem__(self, name: str) -> str:
        (value,) = self.values(name)
        return value


Answer = Callable[[Request], bytes | AsyncIterator[bytes]]


def answer(status: int, body: bytes = b"", *headers: str) -> bytes:
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", *headers]
    return "\r\n".join([*lines, "", ""]).encode() + body


async def silence() -> AsyncIterator[bytes]:
    await asyncio.Event().wait()
    yield b""


class RawSink:
    def __init__(self, reply: Answer | None = None) -> None:
        self.reply = reply or (lambda _: answer(200))
        self.requests: list[Request] = []
        self.connections = 0
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def ids(self) -> list[str]:
        return [request["ce-id"] for request in self.requests]

    def ids_at(self, target: str) -> list[str]:
        return [request["ce-id"] for request in self.requests if request.target == target]

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=512)
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            while True:
                self.requests.append(request := await _read(reader))
                reply = self.reply(request)
                if isinstance(reply, bytes):
                    writer.write(reply)
                else:
                    async for part in reply:
                        writer.write(part)
                        await writer.drain()
        except (asyncio.IncompleteReadError, asyncio.CancelledError, OSError):
            pass
        finally:
            writer.close()
            self._tasks.discard(task)


async def _read(reader: asyncio.StreamReader) -> Request:
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
    method, target, _ = head[0].split(" ")
    headers = [(name, value.strip()) for name, _, value in (line.partition(":") for line in head[1:-2])]
    length = next((int(value) for name, value in headers if name.lower() == "content-length"), 0)
    return Request(method, target, headers, await reader.readexactly(length))
