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
from typing import TYPE_CHECKING, Any

import nats.aio.client
import nats.aio.transport
import nats.errors
import nats.js.errors

from headrace.subscriptions.credential import Plain, Token

if TYPE_CHECKING:
    import socket
    import ssl
    from urllib.parse import ParseResult

    from headrace.delivery.guard import Guard
    from headrace.events.bindings.nats import Message

_CONNECT_SECONDS = 10
_ROUND_TRIP_SECONDS = 10.0
_CLOSING_SECONDS = 3.0
_PING_SECONDS = 20
_HEAD_BYTES = len(b"NATS/1.0\r\n\r\n")
_LINE_BYTES = len(b": \r\n")
_DENIED = re.compile(r'permissions violation for publish to "(.*)"')


class Denied(Exception):
    """The server doesn't let this user publish to this subject."""


class TooLarge(Exception):
    """The message is larger than the server takes."""


@dataclass(frozen=True, slots=True)
class Servers:
    """Everything that a connection is made of: subscriptions for which it is equal share one."""

    hosts: tuple[tuple[str, int], ...]
    secure: bool
    credential: Plain | Token | None


class _Transport(nats.aio.transport.TcpTransport):
    """Runs on a socket that is connected already, once."""

    def __init__(self, connected: socket.socket, *, secure: bool) -> None:
        super().__init__()
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
        super().write(payload)

    def __bool__(self) -> bool:
        return True  # else the client would put a transport of its own in its place


class Connection:
    """Publishes, and waits until the server (or a stream) has the message."""

    def __init__(self) -> None:
        self._client = nats.aio.client.Client()
        self._streams = self._client.jetstream()
        self._waiting: dict[str, set[asyncio.Future[Any]]] = {}
        self._denials: Counter[str] = Counter()
        self._round_trip: asyncio.Task[float] | None = None
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

    async def publish(self, subject: str, message: Message) -> None:
        """Return when the server has the message: the answer to a ping that was written behind it."""
        before = self._denials[subject.lower()]
        await self._write(subject, message)
        if self._round_trip is None:
            self._round_trip = asyncio.create_task(self._go_and_return())
        await asyncio.shield(self._round_trip)
        if self._denials[subject.lower()] > before:
            raise Denied(subject)

    async def store(self, subject: str, message: Message) -> None:
        """Return when a stream has stored the message."""
        name = subject.lower()
        before = self._denials[name]
        self._check_size(message)
        stored = await self._streams.publish_async(subject, message.payload, headers=message.headers)
        _raise_if_cancelled()
        waiting = self._waiting.setdefault(name, set())
        waiting.add(stored)
        try:
            if self._denials[name] > before:
                raise Denied(subject)
            if self._client.is_closed:
                raise nats.errors.ConnectionClosedError
            await stored
        finally:
            stored.cancel()
            waiting.discard(stored)
            if not waiting:
                self._waiting.pop(name, None)

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
                # A publication returns when it is written. The client pings ahead of what it holds back.
                pending_size=1,
                error_cb=self._told,
                closed_cb=self._closed,
                **_login(servers.credential),
            )
            if self._client._transport is not transport:  # noqa: SLF001
                raise ConnectionError("this version of nats-py connects in a way that can't be guarded")
        except BaseException:
            transport.close()
            connected.close()
            raise

    async def _write(self, subject: str, message: Message) -> None:
        self._check_size(message)
        await self._client.publish(subject, message.payload, headers=message.headers)
        _raise_if_cancelled()

    def _check_size(self, message: Message) -> None:
        """Keep back what is too large: the server would end the connection, which others use too."""
        lines = sum(len(name) + len(value) + _LINE_BYTES for name, value in message.headers.items())
        size, limit = _HEAD_BYTES + lines + len(message.payload), self._client.max_payload
        if size > limit:
            raise TooLarge(f"a message of {size} bytes, and the server takes {limit}")

    async def _go_and_return(self) -> float:
        """Ping once for everyone who published in this turn of the loop."""
        await asyncio.sleep(0)
        self._round_trip = None
        pinging = asyncio.ensure_future(self._client.rtt(_ROUND_TRIP_SECONDS))  # type: ignore[arg-type]
        self._waiting.setdefault("", set()).add(pinging)
        try:
            return await pinging
        except nats.errors.TimeoutError:
            self._broken = True
            raise
        except asyncio.CancelledError:
            raise nats.errors.ConnectionClosedError from None
        finally:
            self._waiting.get("", set()).discard(pinging)

    async def _told(self, error: Exception) -> None:
        """Take what the server says about a publication; the client has put all of it in lower case."""
        denied = _DENIED.search(str(error).lower())
        if denied is None:
            return
        self._denials[denied[1]] += 1
        for each in list(self._waiting.get(denied[1], ())):
            _fail(each, Denied(denied[1]))

    async def _closed(self) -> None:
        for waiting in list(self._waiting.values()):
            for each in list(waiting):
                _fail(each, nats.errors.ConnectionClosedError())


def _fail(waiting: asyncio.Future[Any], error: Exception) -> None:
    if isinstance(waiting, asyncio.Task):
        waiting.cancel()
    elif not waiting.done():
        waiting.set_exception(error)


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
