"""The HTTP protocol of a connection, with bounds on what a stranger may send before anybody knows who they are.

uvicorn's protocol reads for as long as a client writes, and takes trailers for headers. This one counts: bytes and
number of the headers, the length of the URL, what stands between the chunks of a body, the time that a head and a body
take, requests that wait for their turn, and connections of an address.
"""

from __future__ import annotations

import enum
from typing import TYPE_CHECKING, Any, NamedTuple

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from headrace.api.problems import MEDIA_TYPE, problem
from headrace.telemetry.metrics import CONNECTIONS_REFUSED

if TYPE_CHECKING:
    import asyncio

    from headrace.api.settings import ApiSettings
    from headrace.service.http.connections import Connections

_CHUNK_FRAME = 16  # the size and the line ends of a chunk that says nothing else
_HEADER_FRAME = 4  # the colon, the blank and the line end
_MOST_WAITING = 128
"""Requests of one connection that were sent before the answers to those before them."""
_MOST_IGNORED = 16 << 20
"""Bytes of a body that are read although its request was answered already."""
_LINGER_BYTES, _LINGER_SECONDS = 1 << 20, 2.0
"""What is still read of a connection that was refused, so that the refusal gets through and no reset overtakes it."""
_STALL_SECONDS = 300.0
"""How long a client may leave its answer unread."""


class Phase(enum.Enum):
    """What is being read."""

    IDLE = "nothing"
    HEAD = "head"
    BODY = "body"
    REFUSED = "refused"


class Refusal(NamedTuple):
    """Why a connection ends: `code` is that of the problem document, `reason` that of the metric."""

    status: int
    code: str
    detail: str


class BoundedProtocol(HttpToolsProtocol):
    """One connection. All calls come from the event loop; `check` has to be called every second or so."""

    def __init__(self, *args: Any, limits: ApiSettings, counted: Connections, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._limits = limits
        self._counted = counted
        self._peer = ""
        self._phase = Phase.IDLE
        self._deadline = float("inf")
        self._refusal: Refusal | None = None
        self._head_bytes = 0
        self._unaccounted = 0  # bytes read that belong to nothing the parser has reported
        self._ignored = 0
        self._stalled_at: float | None = None

    # The connection

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Accept the connection, or refuse it if its address has too many."""
        super().connection_made(transport)
        self._peer = self.client[0] if self.client else ""
        too_many = self._counted.add(self._peer)
        if too_many is not None:
            self._refuse(Refusal(503, "too-many-connections", too_many))
            transport.close()
        else:
            self._await_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop counting the connection."""
        self._counted.remove(self._peer)
        self._deadline = float("inf")
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Feed the parser, and end the connection on a syntax error or an exceeded limit."""
        self._unset_keepalive_if_required()
        if self._phase is Phase.REFUSED:
            self._linger(len(data))
            return
        if self._phase is Phase.IDLE:
            self._await_head()
        self._unaccounted += len(data)
        try:
            self.parser.feed_data(data)
        except httptools.HttpParserUpgrade:
            self.cycle.keep_alive = (
                False  # nothing else is spoken here, so it is answered as HTTP/1.1 and ends
            )
        except httptools.HttpParserError as error:
            self._refuse(self._refusal or Refusal(400, "invalid-http", f"this is no HTTP/1.1: {error}"))
        else:
            if self._unaccounted > self._limits.max_header_bytes:
                self._refuse(self._too_much())

    def _too_much(self) -> Refusal:
        if self._phase is Phase.BODY:
            most = self._limits.max_header_bytes
            detail = f"chunk extensions of more than {most} bytes; send the body without them"
            return Refusal(400, "invalid-http", detail)
        return self._headers_too_large()

    def _headers_too_large(self) -> Refusal:
        most = self._limits.max_header_bytes
        return Refusal(
            431,
            "headers-too-large",
            f"the headers have more than {most} bytes (api.max_header_bytes); send less",
        )

    # Callbacks of the parser

    def on_message_begin(self) -> None:
        """Reset the counts."""
        super().on_message_begin()
        self._phase = Phase.HEAD
        self._head_bytes = self._unaccounted = 0

    def on_url(self, url: bytes) -> None:
        """Limit the length of the request's target."""
        self._unaccounted -= len(url)
        most = self._limits.max_url_bytes
        if len(self.url) + len(url) > most:
            detail = f"the address has more than {most} bytes (api.max_url_bytes); send less in its query"
            self._stop(Refusal(414, "url-too-long", detail))
        super().on_url(url)

    def on_header(self, name: bytes, value: bytes) -> None:
        """Limit the size and number of headers. Trailers are counted and dropped: none has a meaning here."""
        size = len(name) + len(value) + _HEADER_FRAME
        self._unaccounted -= size
        self._head_bytes += size
        if self._head_bytes > self._limits.max_header_bytes:
            self._stop(self._headers_too_large())
        if self._phase is not Phase.HEAD:
            return
        if len(self.headers) >= self._limits.max_headers:
            most = self._limits.max_headers
            detail = f"there are more than {most} headers (api.max_headers); send fewer"
            self._stop(Refusal(431, "too-many-headers", detail))
        super().on_header(name, value)

    def on_headers_complete(self) -> None:
        """Expect the body, unless too many pipelined requests are waiting."""
        if len(self.pipeline) >= _MOST_WAITING:
            detail = f"more than {_MOST_WAITING} requests wait for their answers on this connection"
            self._stop(Refusal(429, "too-many-requests", detail))
        self._phase = Phase.BODY
        self._deadline = self.loop.time() + self._limits.body_idle_seconds
        self._head_bytes = self._ignored = 0
        super().on_headers_complete()

    def on_chunk_header(self) -> None:
        """Don't count the framing of a chunk as unaccounted bytes."""
        self._unaccounted -= _CHUNK_FRAME

    def on_body(self, body: bytes) -> None:
        """Extend the deadline, and stop reading an endless body whose request has already been answered."""
        self._unaccounted -= len(body)
        earned = self._deadline + len(body) / self._limits.min_body_bytes_per_second
        self._deadline = min(earned, self.loop.time() + self._limits.body_idle_seconds)
        if self.cycle.response_complete:
            self._ignored += len(body)
            if self._ignored > _MOST_IGNORED:
                self.transport.close()
        super().on_body(body)

    def on_message_complete(self) -> None:
        """Wait for the next request."""
        self._phase = Phase.IDLE
        self._deadline = float("inf")
        super().on_message_complete()

    def _stop(self, refusal: Refusal) -> None:
        """Make the parser stop. It reports every exception as its own error, so keep the reason."""
        self._refusal = refusal
        raise ValueError(refusal.code)

    # Time

    def check(self, now: float) -> None:
        """End the connection if what it waits for is overdue. Time that the service itself takes doesn't count."""
        if self._stalled_at is not None and now > self._stalled_at + _STALL_SECONDS:
            self.transport.abort()
        elif self._phase is Phase.REFUSED:
            if now > self._deadline:
                self.transport.abort()
        elif self.flow.read_paused or (self.cycle is not None and self.cycle.waiting_for_100_continue):
            self._deadline = max(self._deadline, now + self._patience())
        elif now > self._deadline:
            self._give_up()

    def _patience(self) -> float:
        limits = self._limits
        return limits.head_seconds if self._phase is Phase.HEAD else limits.body_idle_seconds

    def _await_head(self) -> None:
        self._phase = Phase.HEAD
        self._deadline = self.loop.time() + self._limits.head_seconds

    def _give_up(self) -> None:
        if self._phase is Phase.HEAD:
            seconds = self._limits.head_seconds
            detail = f"the head of a request has to come within {seconds:g} seconds (api.head_seconds)"
        else:
            detail = (
                f"nothing more of the body came for {self._limits.body_idle_seconds:g} seconds, or fewer than "
                f"{self._limits.min_body_bytes_per_second} bytes a second (api.body_idle_seconds, "
                "api.min_body_bytes_per_second); send it again, faster"
            )
        self._refuse(Refusal(408, "sent-too-slowly", detail))

    def pause_writing(self) -> None:
        """Note since when the client has stopped reading."""
        self._stalled_at = self.loop.time()
        super().pause_writing()

    def resume_writing(self) -> None:
        """Note that the client reads again."""
        self._stalled_at = None
        super().resume_writing()

    # The end

    def _refuse(self, refusal: Refusal) -> None:
        """Send the reason, unless another answer is under way, and read a little more before closing.

        Two interleaved answers would let a client that shares the connection take one for the other.
        """
        CONNECTIONS_REFUSED.labels(refusal.code).inc()
        is_answering = self.cycle is not None and not self.cycle.response_complete
        may_answer = not is_answering or (
            self._phase is Phase.BODY and not self.cycle.response_started and not self.pipeline
        )
        if is_answering:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self._phase = Phase.REFUSED
        self._deadline = self.loop.time() + _LINGER_SECONDS
        if not may_answer or self.transport.is_closing():
            self.transport.close()
            return
        self.transport.write(_answer(refusal))
        if self.transport.can_write_eof():
            self.transport.write_eof()

    def _linger(self, size: int) -> None:
        self._ignored += size
        if self._ignored > _LINGER_BYTES:
            self.transport.abort()


def _answer(refusal: Refusal) -> bytes:
    body = problem(refusal.status, refusal.code, refusal.detail)
    again = b"retry-after: 1\r\n" if refusal.status == 503 else b""
    return b"".join(
        [
            STATUS_LINE[refusal.status],
            f"content-type: {MEDIA_TYPE}\r\ncontent-length: {len(body)}\r\n".encode(),
            again,
            b"connection: close\r\n\r\n",
            body,
        ]
    )
