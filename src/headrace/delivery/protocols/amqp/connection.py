"""An AMQP 1.0 connection that the guard made; it ends with the first thing that goes wrong, and is made anew.

Proton's engine speaks the protocol and opens no sockets: bytes go in, bytes and events come out, and asyncio does the
rest, TLS too. Each link has a session of its own: brokers answer a bad address by ending the session, and that must not
end the links of other subscriptions.
"""

from __future__ import annotations

import asyncio
import secrets
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

from proton import Collector, Delivery, Event, ProtonException, Transport
from proton import Connection as Engine

from headrace.delivery.protocols.amqp.link import Ended, LinkSpec, SendingLink, Settlement
from headrace.secrets.credential import Plain, Token

if TYPE_CHECKING:
    import ssl

    from proton import Condition

    from headrace.delivery.sinks.guard import Guard

_CONNECT_SECONDS = 10.0
_CLOSING_SECONDS = 2.0
_IDLE_SECONDS = 60.0
_BUFFERED = 1 << 18
_CHUNK = 1 << 16
UNAUTHORIZED = "amqp:unauthorized-access"


@dataclass(frozen=True, slots=True)
class Server:
    """Everything that a connection is made of: subscriptions for which it is equal share one.

    `apart` is a link that has a name: two of one name can't be on one connection.
    """

    host: str
    port: int
    secure: bool
    credential: Plain | Token | None
    apart: LinkSpec | None


class Connection(asyncio.Protocol):
    """Sends messages over links, and waits until they are settled. For one event loop."""

    def __init__(self, server: Server) -> None:
        self._loop = asyncio.get_running_loop()
        self._opened: asyncio.Future[None] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._links: dict[LinkSpec, SendingLink] = {}
        self._named: dict[str, SendingLink] = {}
        self._ended: Ended | None = None
        self._ticking: asyncio.TimerHandle | None = None
        self._flushing: asyncio.Handle | None = None
        self._writable = asyncio.Event()
        self._writable.set()
        self._collector = Collector()
        self._engine, self._amqp = _engine(server, self._collector)
        self._transport: asyncio.Transport

    @classmethod
    async def make(cls, server: Server, guard: Guard, tls: ssl.SSLContext) -> Connection:
        """Connect. Raise RefusedAddress, OSError, TimeoutError or Ended."""
        async with asyncio.timeout(_CONNECT_SECONDS):
            connected = await guard.connect(server.host, server.port, _CONNECT_SECONDS)
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: cls(server),
                    sock=connected,
                    ssl=tls if server.secure else None,
                    server_hostname=server.host if server.secure else None,
                )
            except BaseException:
                connected.close()
                raise
            try:
                await connection._opened  # noqa: SLF001
            except BaseException:
                connection._abort()  # noqa: SLF001
                raise
        return connection

    @property
    def usable(self) -> bool:
        """Tell whether it is still connected."""
        return self._ended is None and not self._transport.is_closing()

    async def send(self, spec: LinkSpec, message: bytes) -> Settlement:
        """Send a message and return what became of it. Raise Ended or TooLarge.

        Whoever stops waiting leaves the message under way.
        """
        if self._ended is not None:
            raise self._ended
        link = self._links.get(spec)
        if link is None:
            link = self._add(spec)
        await link.credit()
        await self._writable.wait()
        if link.ended is not None:
            raise link.ended
        flight = link.send(message)
        self._flush_soon()
        return await flight

    async def close(self) -> None:
        """Say good-bye and end the connection, without waiting long."""
        if self._ended is None:
            self._end(Ended("the connection was closed"))
            self._engine.close()
            self._flush()
            self._transport.close()
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await asyncio.shield(self._closed)
        except TimeoutError:
            self._abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to speak; asyncio calls it."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._transport.set_write_buffer_limits(high=_BUFFERED)
        self._tick()

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everyone who waits; asyncio calls it."""
        self._end(Ended(f"the connection was lost: {exc}" if exc else "the server closed the connection"))
        self._closed.set_result(None)

    def pause_writing(self) -> None:
        """Leave bytes in the engine; asyncio calls it."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on; asyncio calls it."""
        self._writable.set()
        self._flush_soon()

    def data_received(self, data: bytes) -> None:
        """Give the engine what came, in pieces that it can take; asyncio calls it."""
        view = memoryview(data)
        try:
            while view and (capacity := self._amqp.capacity()) > 0:
                self._amqp.push(bytes(view[:capacity]))
                view = view[capacity:]
                self._react()
        except ProtonException as error:
            self._end(Ended(f"the server broke the protocol: {error}"))
        self._flush()

    def _flush_soon(self) -> None:
        """Write once for all that is sent in this turn of the loop."""
        if self._flushing is None:
            self._flushing = self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        self._flushing = None
        while self._writable.is_set() and (pending := self._amqp.pending()) > 0:
            self._transport.write(bytes(self._amqp.peek(pending) or b""))
            self._amqp.pop(pending)
        self._react()
        if self._amqp.pending() < 0:
            self._transport.close()
        self._settle_written()

    def _settle_written(self) -> None:
        """Accept what was sent settled: nothing else will be heard of it."""
        if self._amqp.pending() != 0 or self._transport.get_write_buffer_size():
            if any(link.spec.settled and link.flights for link in self._links.values()):
                self._loop.call_later(0.002, self._settle_written)
            return
        for link in self._links.values():
            if link.spec.settled and not link.sender.queued:
                for tag in list(link.flights):
                    link.settle(tag, Settlement(Delivery.ACCEPTED))

    def _tick(self) -> None:
        """Let the engine keep the connection alive, or find that the other side has fallen silent."""
        if self._ended is not None:
            return
        deadline = self._amqp.tick(time.monotonic())
        self._flush()
        for link in [each for each in self._links.values() if each.is_idle]:
            link.close()
            self._remove(link)
        wait = deadline - time.monotonic() if deadline else _IDLE_SECONDS / 2
        self._ticking = self._loop.call_later(min(max(wait, 0.05), _IDLE_SECONDS / 2), self._tick)

    def _react(self) -> None:
        """Act on what the engine found out."""
        while (event := self._collector.peek()) is not None:
            handle = _REACTIONS.get(event.type)
            if handle is not None:
                handle(self, event)
            self._collector.pop()

    def _on_delivery(self, event: Any) -> None:
        delivery = event.delivery
        state = delivery.remote_state
        if state in (0, Delivery.RECEIVED) and not delivery.settled:
            return
        link = self._named.get(event.link.name)
        if link is not None:
            condition = delivery.remote.condition if state == Delivery.REJECTED else None
            link.settle(delivery.tag, _settlement(int(state), condition))
        delivery.settle()

    def _on_credit(self, event: Any) -> None:
        link = self._named.get(event.link.name)
        if link is not None and link.sender.credit > 0:
            link.wake()

    def _on_link_end(self, event: Any) -> None:
        link = self._named.get(event.link.name)
        if link is not None:
            self._end_link(link, event.link.remote_condition, "the server closed the link")
        event.link.close()

    def _on_session_end(self, event: Any) -> None:
        for link in list(self._links.values()):
            if link.sender.session == event.session:
                self._end_link(link, event.session.remote_condition, "the server ended the session")
        event.session.close()

    def _on_open(self, _: Any) -> None:
        if not self._opened.done():
            self._opened.set_result(None)

    def _on_close(self, event: Any) -> None:
        self._end(_ended(event.connection.remote_condition, "the server closed the connection"))
        self._engine.close()

    def _on_error(self, event: Any) -> None:
        self._end(_ended(event.transport.condition, "the connection failed"))

    def _add(self, spec: LinkSpec) -> SendingLink:
        link = self._links[spec] = SendingLink(self._engine, spec, self._loop)
        self._named[link.name] = link
        self._flush_soon()
        return link

    def _remove(self, link: SendingLink) -> None:
        del self._links[link.spec]
        del self._named[link.name]

    def _end_link(self, link: SendingLink, condition: Condition | None, otherwise: str) -> None:
        self._remove(link)
        link.end(_ended(condition, otherwise))

    def _end(self, ended: Ended) -> None:
        if self._ended is not None:
            return
        self._ended = ended
        if self._ticking is not None:
            self._ticking.cancel()
        if not self._opened.done():
            self._opened.set_exception(ended)
        for link in self._links.values():
            link.end(ended)
        self._writable.set()

    def _abort(self) -> None:
        self._end(Ended("the connection was given up"))
        self._transport.abort()


_REACTIONS = {
    Event.DELIVERY: Connection._on_delivery,  # noqa: SLF001
    Event.LINK_FLOW: Connection._on_credit,  # noqa: SLF001
    Event.LINK_REMOTE_CLOSE: Connection._on_link_end,  # noqa: SLF001
    Event.LINK_REMOTE_DETACH: Connection._on_link_end,  # noqa: SLF001
    Event.SESSION_REMOTE_CLOSE: Connection._on_session_end,  # noqa: SLF001
    Event.CONNECTION_REMOTE_OPEN: Connection._on_open,  # noqa: SLF001
    Event.CONNECTION_REMOTE_CLOSE: Connection._on_close,  # noqa: SLF001
    Event.TRANSPORT_ERROR: Connection._on_error,  # noqa: SLF001
}


def _engine(server: Server, collector: Collector) -> tuple[Engine, Transport]:
    engine, amqp = Engine(), Transport()
    engine.collect(collector)
    engine.container = f"headrace-{secrets.token_hex(8)}"
    engine.hostname = server.host
    login = _login(server.credential)
    sasl = amqp.sasl()
    sasl.allowed_mechs("PLAIN" if login else "ANONYMOUS")
    if login:
        engine.user, engine.password = login
        sasl.allow_insecure_mechs = True  # TLS lies below the engine, which doesn't see it
    amqp.idle_timeout = _IDLE_SECONDS
    amqp.max_frame_size = _CHUNK
    amqp.bind(engine)
    engine.open()
    return engine, amqp


def _login(credential: Plain | Token | None) -> tuple[str, str] | None:
    """A token goes as the password of a user that is called by its type, which is how brokers take it."""
    match credential:
        case Plain(identifier, secret):
            return identifier, secret
        case Token(type=kind, value=value):
            return kind, value
    return None


def _ended(condition: Condition | None, otherwise: str) -> Ended:
    if condition is None or not condition.name:
        return Ended(otherwise)
    return Ended(condition.name, condition.description or "")


def _settlement(state: int, condition: Condition | None) -> Settlement:
    if condition is None:
        return Settlement(state)
    return Settlement(state, condition.name or "", condition.description or "")
