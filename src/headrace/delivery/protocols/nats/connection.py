"""A connection to a NATS server that the guard made; it ends with the first thing that goes wrong, and is made anew.

The client would reconnect by itself, to servers that the server names, and send once more what it still holds: then
nobody could say what an acknowledgement belongs to. Here it never reconnects.
"""

from __future__ import annotations

import asyncio
import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any

import msgspec
import nats.aio.client
import nats.aio.msg
import nats.aio.transport
import nats.errors

from headrace.secrets.credential import Plain, Token

if TYPE_CHECKING:
    import socket
    import ssl
    from urllib.parse import ParseResult

    from headrace.delivery.sinks.guard import Guard
    from headrace.events.bindings.nats import NatsMessage

_CONNECT_SECONDS = 10
_ROUND_TRIP_SECONDS = 10.0
_CLOSING_SECONDS = 3.0
_PAUSE_SECONDS = 0.001
# The dispatcher bounds what is under way. A client that holds back more waits, and doesn't notice that it was closed.
_HELD_BYTES = 1 << 30
_PING_SECONDS = 20
_HEAD_BYTES = len(b"NATS/1.0\r\n\r\n")
_LINE_BYTES = len(b": \r\n")
_NO_RESPONDERS = "503"
_DENIED = re.compile(r'permissions violation for publish to "(.*)"')


class Denied(Exception):
    """The server doesn't let this user publish to this subject."""


class TooLarge(Exception):
    """The message is larger than the server takes."""


class NotStored(Exception):
    """A stream's answer, in the numbers of JetStream: `code` is like a status of HTTP, `number` says what exactly."""

    def __init__(self, code: int, description: str, number: int | None = None) -> None:
        super().__init__(description)
        self.code = code
        self.number = number


class _Error(msgspec.Struct):
    code: int
    description: str = ""
    err_code: int | None = None


class _Answer(msgspec.Struct):
    error: _Error | None = None


@dataclass(frozen=True, slots=True)
class Servers:
    """Everything that a connection is made of."""

    hosts: tuple[tuple[str, int], ...]
    secure: bool
    credential: Plain | Token | None


class _Transport(nats.aio.transport.TcpTransport):
    """Runs on a socket that is connected already, once."""

    def __init__(self, connected: socket.socket, *, secure: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._socket: socket.socket | None = connected
        self._secure = secure

    async def connect(self, uri: ParseResult, buffer_size: int, connect_timeout: int) -> None:  # noqa: ARG002
        if self._socket is None:
            raise ConnectionError("a connection is made once")
        connected, self._socket = self._socket, None
        reader, writer = await asyncio.open_connection(sock=connected, limit=buffer_size)
        self._bare_io_reader = self._io_reader = reader
        self._bare_io_writer = self._io_writer = writer

    async def connect_tls(self, *arguments: Any, **options: Any) -> None:
        await super().connect_tls(*arguments, **options)
        self._secure = False

    def write(self, payload: bytes) -> None:
        # The client takes the server's word on whether there is TLS, and the password would be written next.
        if self._secure:
            raise ConnectionError("the server offers no TLS, which the sink asks for")
        super().write(payload)  # type: ignore[no-untyped-call]

    def __bool__(self) -> bool:
        return True  # else the client would put a transport of its own in its place


class Connection:
    """Publishes, and waits until the server (or a stream) has the message."""

    def __init__(self) -> None:
        self._client = nats.aio.client.Client()
        self._inbox: str | None = None
        self._numbers = count()
        self._answers: dict[int, tuple[str, asyncio.Future[None]]] = {}
        self._denials: Counter[str] = Counter()
        self._round_trip: asyncio.Task[None] | None = None
        self._trips: set[asyncio.Task[None]] = set()
        self._broken = False

    @classmethod
    async def make(cls, servers: Servers, guard: Guard, tls: ssl.SSLContext) -> Connection:
        """Connect to the first server that answers. Raise what the last one answered."""
        for number, (host, port) in enumerate(servers.hosts, 1):
            connection = cls()
            try:
                await connection._open(host, port, servers, guard, tls)
            except Exception:
                if number == len(servers.hosts):
                    raise
            else:
                return connection
        raise AssertionError("a sink has a host")

    @property
    def usable(self) -> bool:
        """Tell whether it is still connected."""
        return self._client.is_connected and not self._broken

    async def publish(self, subject: str, message: NatsMessage) -> None:
        """Return when the server has the message: the answer to a ping that was written behind it."""
        before = self._denials[subject.lower()]
        await self._write(subject, message)
        if self._round_trip is None:
            self._round_trip = asyncio.create_task(self._go_and_return())
            self._trips.add(self._round_trip)
            self._round_trip.add_done_callback(self._trips.discard)
        trip = self._round_trip
        try:
            await asyncio.shield(trip)
        except asyncio.CancelledError:
            if trip.cancelled():
                raise nats.errors.ConnectionClosedError from None
            raise
        if self._denials[subject.lower()] > before:
            raise Denied(subject)

    async def store(self, subject: str, message: NatsMessage) -> None:
        """Return when a stream has stored the message. Raise NotStored where it says that it hasn't."""
        name, before = subject.lower(), self._denials[subject.lower()]
        inbox, number = await self._own_inbox(), next(self._numbers)
        answer: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._answers[number] = (name, answer)
        try:
            await self._write(subject, message, f"{inbox}.{number}")
            if self._denials[name] > before:
                raise Denied(subject)
            await answer
        finally:
            del self._answers[number]
            answer.cancel()

    async def close(self) -> None:
        """End the connection."""
        self._broken = True
        with suppress(TimeoutError):
            async with asyncio.timeout(_CLOSING_SECONDS):
                await self._client.close()
        await self._closed()

    async def _open(self, host: str, port: int, servers: Servers, guard: Guard, tls: ssl.SSLContext) -> None:
        connected = await guard.connect(host, port, _CONNECT_SECONDS)
        transport = _Transport(connected, secure=servers.secure)
        self._client._transport = transport  # noqa: SLF001  # there is no other way to bring one's own connection
        scheme, name = ("tls" if servers.secure else "nats"), (f"[{host}]" if ":" in host else host)
        try:
            await self._client.connect(
                f"{scheme}://{name}:{port}",
                name="headrace",
                allow_reconnect=False,
                max_reconnect_attempts=1,
                reconnect_time_wait=0,
                connect_timeout=_CONNECT_SECONDS,
                ping_interval=_PING_SECONDS,
                no_echo=True,
                tls=tls,
                tls_hostname=host,
                pending_size=_HELD_BYTES,
                error_cb=self._told,
                closed_cb=self._closed,
                **_login(servers.credential),
            )
            if self._client._transport is not transport:  # noqa: SLF001
                raise ConnectionError("this version of nats-py connects in a way that can't be guarded")
        except BaseException:
            transport.close()  # type: ignore[no-untyped-call]
            connected.close()
            raise

    async def _own_inbox(self) -> str:
        if self._inbox is None:
            self._inbox = self._client.new_inbox()
            await self._client.subscribe(f"{self._inbox}.*", cb=self._answered)
        return self._inbox

    async def _write(self, subject: str, message: NatsMessage, reply: str = "") -> None:
        self._check_size(message)
        await self._client.publish(subject, message.payload, reply, message.headers)
        _raise_if_cancelled()

    def _check_size(self, message: NatsMessage) -> None:
        """Keep back what is too large: the server would end the connection, which others use too."""
        lines = sum(len(name) + len(value) + _LINE_BYTES for name, value in message.headers.items())
        size, limit = _HEAD_BYTES + lines + len(message.payload), self._client.max_payload
        if size > limit:
            raise TooLarge(f"a message of {size} bytes, and the server takes {limit}")

    async def _go_and_return(self) -> None:
        """Ping once for everyone who published in this turn of the loop.

        Be careful: the client writes a ping at once, ahead of publications that it still holds back.
        """
        await asyncio.sleep(0)
        self._round_trip = None
        pause = 0.0
        while self._client.pending_data_size and self._client.is_connected:
            await asyncio.sleep(pause)
            pause = _PAUSE_SECONDS
        try:
            await self._client.rtt(_ROUND_TRIP_SECONDS)  # type: ignore[arg-type]  # it says int, and takes seconds
        except nats.errors.TimeoutError:
            self._broken = True
            raise

    async def _answered(self, message: nats.aio.msg.Msg) -> None:
        _, answer = self._answers.get(int(message.subject.rpartition(".")[2]), ("", None))
        if answer is None or answer.done():
            return
        if (message.headers or {}).get("Status") == _NO_RESPONDERS:
            answer.set_exception(NotStored(503, "no stream takes this subject"))
            return
        try:
            said = msgspec.json.decode(message.data, type=_Answer)
        except msgspec.DecodeError as error:
            answer.set_exception(NotStored(500, f"an answer that can't be read: {error}"))
            return
        if said.error is None:
            answer.set_result(None)
        else:
            answer.set_exception(NotStored(said.error.code, said.error.description, said.error.err_code))

    async def _told(self, error: Exception) -> None:
        """Take what the server says about a publication; the client has put all of it in lower case."""
        denied = _DENIED.search(str(error).lower())
        if denied is None:
            return
        self._denials[denied[1]] += 1
        for name, answer in list(self._answers.values()):
            if name == denied[1] and not answer.done():
                answer.set_exception(Denied(name))

    async def _closed(self) -> None:
        """Let nobody wait for an answer that can't come."""
        for _, answer in list(self._answers.values()):
            if not answer.done():
                answer.set_exception(nats.errors.ConnectionClosedError())
        for ending in list(self._trips):
            ending.cancel()


def _raise_if_cancelled() -> None:
    """Be careful: the client swallows a cancellation while it writes, and time would never be up."""
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def _login(credential: Plain | Token | None) -> dict[str, Any]:
    match credential:
        case Plain(identifier, secret):
            return {"user": identifier, "password": secret}
        case Token(value=value):
            return {"token": value}
    return {}
