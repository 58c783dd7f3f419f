"""A connection that speaks HTTP/1.1: one exchange at a time, read as far as is asked for and in the time it has.

Whatever goes wrong before an answer's head is there is an OSError. What goes wrong later leaves the status that was
read, and an answer that isn't whole.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, cast

import httptools

from headrace.delivery.protocols.http.answers import Answer

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.queue.turns import TurnLimiter

_MOST_HEAD_BYTES = 65_536
_SWITCHING = 101


class Connection(asyncio.Protocol):
    """For one event loop. `usable` says whether another exchange may follow, `heard` whether this one had an answer.

    What is late is given up through `lates`, which many connections share.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, lates: TurnLimiter) -> None:
        self._loop = loop
        self._lates = lates
        self._parser = httptools.HttpResponseParser(self)
        self._transport: asyncio.Transport
        self._answering: asyncio.Future[Answer] | None = None
        self._lost: Exception | None = None
        self.usable = True
        self.used_at = 0.0
        self._begin(0)

    def _begin(self, limit: int) -> None:
        self._limit = limit
        self._head_bytes = self._headers_bytes = 0
        self._status = 0  # 0 while the head isn't complete
        self._headers: list[tuple[bytes, bytes]] = []
        self._body: list[bytes] = []
        self._body_bytes = 0
        self.heard = False

    async def exchange(self, parts: Sequence[bytes], limit: int, deadline: float) -> Answer:
        """Send a request and return the answer, its body up to the limit and a byte. Raise OSError or TimeoutError."""
        if self._lost is not None:
            raise self._lost
        self._begin(limit)
        answering: asyncio.Future[Answer] = self._loop.create_future()
        self._answering = answering
        timer = self._loop.call_at(deadline, self._lates.call, lambda: self._late(answering))
        self._transport.writelines(parts)
        try:
            return await answering
        finally:
            timer.cancel()
            self._answering = None
            if not answering.done() or answering.cancelled():
                self.close()

    def close(self) -> None:
        """End it, whatever is under way."""
        self.usable = False
        self._transport.abort()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass

    def connection_lost(self, exc: Exception | None) -> None:
        """Take what was read for the answer, if that is one."""
        self.usable = False
        self._lost = ConnectionError(
            str(exc) if exc else "the server closed the connection without an answer"
        )
        self._end(whole=exc is None and self._lasts_to_the_end())

    def eof_received(self) -> None:
        """Let the transport close."""

    def data_received(self, data: bytes) -> None:
        """Read on."""
        if self._answering is None or self._answering.done():
            self.close()  # nobody has asked for anything
            return
        self.heard = True
        if not self._status:
            self._head_bytes += len(data)
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self._end(whole=False)
        except httptools.HttpParserError as error:
            self._lost = ConnectionError(f"what the server answers is no HTTP: {error}")
            self._end(whole=False)
        if not self._status and self._head_bytes > _MOST_HEAD_BYTES:
            self._lost = ConnectionError(f"the head of the answer has more than {_MOST_HEAD_BYTES} bytes")
            self._end(whole=False)

    # What the parser calls

    def on_message_begin(self) -> None:
        """Give up a server that answers more than it was asked."""
        if self._answering is None or self._answering.done():
            self.usable = False

    def on_header(self, name: bytes, value: bytes) -> None:
        """Keep a header, unless all of them are too long, which the parser takes for an error."""
        self._headers.append((name, value))
        self._headers_bytes += len(name) + len(value)
        if self._headers_bytes > _MOST_HEAD_BYTES:
            raise ValueError

    def on_headers_complete(self) -> None:
        """Take note of the status, unless it only announces the answer."""
        status = self._parser.get_status_code()
        if status >= 200 or status == _SWITCHING:
            self._status = status
        else:
            self._headers = []

    def on_body(self, body: bytes) -> None:
        """Keep a part of the body, and end where it is too long."""
        if self._body_bytes <= self._limit:
            self._body.append(body)
            self._body_bytes += len(body)
            if self._body_bytes > self._limit:
                self._end(whole=False)

    def on_message_complete(self) -> None:
        """End; the connection may be used again where the server agrees."""
        if self._status:
            self.usable = self.usable and self._parser.should_keep_alive()
            self._end(whole=True)

    # The end of an exchange

    def _late(self, answering: asyncio.Future[Answer]) -> None:
        """Give an exchange up; by now it may have ended, and this be another one."""
        if answering is self._answering and not answering.done():
            self._lost = TimeoutError("no answer in time")
            self._end(whole=False)

    def _lasts_to_the_end(self) -> bool:
        """Tell whether the end of the connection is the end of the answer: it has no other one."""
        return not any(
            name.lower() == b"content-length"
            or (name.lower() == b"transfer-encoding" and b"chunked" in value.lower())
            for name, value in self._headers
        )

    def _end(self, *, whole: bool) -> None:
        """Answer, or fail where there is nothing to answer with. What isn't whole ends the connection."""
        answering = self._answering
        if answering is not None and not answering.done():
            if self._status:
                body = b"".join(self._body)[: self._limit + 1]
                answering.set_result(Answer(self._status, tuple(self._headers), body, whole))
            else:
                answering.set_exception(self._lost or ConnectionError("the server upgrades the connection"))
        if not whole or not self.usable:
            self.close()
