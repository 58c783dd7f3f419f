"""Google's parser in a process of its own, for processes that have to answer others meanwhile.

`python -m headrace.filters.syntax` reads questions from its standard input and writes answers to its standard output,
each behind its length. It ends with its input.
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
"""How long an answer may take, the start of the process included. A long text takes about a second."""
_WORK = {"parse": parse, "check": check}


class Question(msgspec.Struct, frozen=True):
    """What is to be done with which text."""

    work: Literal["parse", "check"]
    source: str


class ParserProcess:
    """The process, started with the first question. Threads may share it and take turns."""

    def __init__(self) -> None:
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None

    def ask(self, question: Question) -> Answer:
        """Return the answer. Where the process ends twice or hangs over a text, the report says so."""
        with self._turn:
            try:
                return self._answer(question)
            except TimeoutError as error:
                return self._gave_up(error)
            except (OSError, EOFError):
                self._end()  # it may have ended long ago
            try:
                return self._answer(question)
            except (OSError, EOFError) as error:
                return self._gave_up(error)

    def close(self) -> None:
        """End the process."""
        with self._turn:
            self._end()

    def _gave_up(self, error: Exception) -> Answer:
        self._end()
        return Answer(report=f"the parser gave up on it: {error}")

    def _answer(self, question: Question) -> Answer:
        process = self._process = self._process or _start()
        assert process.stdin is not None  # noqa: S101  it is piped
        assert process.stdout is not None  # noqa: S101
        _write(process.stdin, msgspec.msgpack.encode(question))
        if not select.select([process.stdout], [], [], _SECONDS)[0]:
            raise TimeoutError(f"no answer within {_SECONDS:g} seconds")
        return msgspec.msgpack.decode(_read(process.stdout), type=Answer)

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            with suppress(BrokenPipeError), process:
                pass


def serve(questions: IO[bytes], answers: IO[bytes]) -> None:
    """Answer until there are no more questions."""
    while True:
        try:
            question = msgspec.msgpack.decode(_read(questions), type=Question)
        except EOFError:
            return
        work: Callable[[str], Answer] = _WORK[question.work]
        _write(answers, msgspec.msgpack.encode(work(question.source)))


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
