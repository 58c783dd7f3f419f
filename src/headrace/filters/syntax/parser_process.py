"""Run Google's parser in a process of its own, for processes that must stay responsive.

`python -m headrace.filters.syntax` reads requests from its standard input and writes answers to its standard output,
each with its length in front. It ends when its input ends.
"""

from __future__ import annotations

import select
import struct
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Literal

import msgspec

from headrace.filters.syntax.google import Answer, check, parse

if TYPE_CHECKING:
    from collections.abc import Callable

_LENGTH = struct.Struct("<I")
_SECONDS = 60.0
"""How long an answer may take, including the start of the process. A long text takes about a second."""
_TASKS = {"parse": parse, "check": check}


class Request(msgspec.Struct, frozen=True):
    """A text and what to do with it."""

    task: Literal["parse", "check"]
    source: str


class ParserProcess:
    """The process, started by the first request. Threads may share it; their requests are serialized."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, request: Request) -> Answer:
        """Return the answer. If the process ends twice or hangs, the answer's report says so."""
        with self._turn:
            try:
                return self._answer(request)
            except TimeoutError as error:
                return self._gave_up(error)
            except (OSError, EOFError):
                self._end()  # it may have ended long ago
            try:
                return self._answer(request)
            except (OSError, EOFError) as error:
                return self._gave_up(error)

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _gave_up(self, error: Exception) -> Answer:
        self._end()
        return Answer(report=f"the parser gave up: {error}")

    def _answer(self, request: Request) -> Answer:
        process = self._process = self._process or _start()
        assert process.stdin is not None  # noqa: S101  it is piped
        assert process.stdout is not None  # noqa: S101
        _write(process.stdin, msgspec.msgpack.encode(request))
        if not select.select([process.stdout], [], [], _SECONDS)[0]:
            raise TimeoutError(f"no answer within {_SECONDS:g} seconds")
        return msgspec.msgpack.decode(_read(process.stdout), type=Answer)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                pass


def serve(requests: IO[bytes], answers: IO[bytes]) -> None:
    """Answer requests until the input ends."""
    while True:
        try:
            request = msgspec.msgpack.decode(_read(requests), type=Request)
        except EOFError:
            return
        task: Callable[[str], Answer] = _TASKS[request.task]
        _write(answers, msgspec.msgpack.encode(task(request.source)))


def _start() -> subprocess.Popen[bytes]:
    command = (sys.executable, "-m", "headrace.filters.syntax")
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)  # noqa: S603


def _write(stream: IO[bytes], message: bytes) -> None:
    stream.write(_LENGTH.pack(len(message)) + message)
    stream.flush()


def _read(stream: IO[bytes]) -> bytes:
    head = stream.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        raise EOFError("the process has ended")
    (length,) = _LENGTH.unpack(head)
    body = stream.read(length)
    if len(body) < length:
        raise EOFError("the process has ended")
    return body
