"""A connection to an MQTT server that the guard made; it ends with the first thing that goes wrong, and is made anew.

Its session ends with it, so whatever was not acknowledged is nobody's to send again but the dispatcher's. It never has
more publications under way than the server said it takes, and sends nothing that the server said it doesn't take:
such a packet would end the connection, which other subscriptions use too.
"""

from __future__ import annotations

import asyncio
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from headrace.delivery.protocols.mqtt import packets
from headrace.delivery.protocols.mqtt.packets import Answer, Malformed, Packet, Property, Version
from headrace.secrets.credential import Plain, Token

if TYPE_CHECKING:
    import ssl

    from headrace.delivery.sinks.guard import Guard

_CONNECT_SECONDS = 10.0
_CLOSING_SECONDS = 2.0
_KEEP_ALIVE = 30
_STUCK_SECONDS = 60.0
_WINDOW = 1000
_WRITE_SECONDS = 0.002
_BUFFERED = 1 << 18
FAILED = 0x80
RETAIN_NOT_SUPPORTED, QOS_NOT_SUPPORTED, PACKET_TOO_LARGE = 0x9A, 0x9B, 0x95


class Lost(ConnectionError):
    """The connection ended before the acknowledgement came; the server may have said why."""

    def __init__(self, reason: str, code: int | None = None) -> None:
        super().__init__(reason)
        self.code = code


class Refused(Exception):
    """The server doesn't let this client in."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.reason)
        self.answer = answer


@dataclass(frozen=True, slots=True)
class Server:
    """Everything that a connection is made of: subscriptions for which it is equal share one."""

    version: Version
    host: str
    port: int
    secure: bool
    credential: Plain | Token | None


@dataclass(frozen=True, slots=True)
class Publication:
    """What is published; `properties` are packed, and empty in MQTT 3.1.1."""

    topic: str
    qos: int
    retain: bool
    properties: bytes
    payload: bytes


class Connection(asyncio.Protocol):
    """Publishes, and waits for acknowledgements. For one event loop."""

    def __init__(self, version: Version) -> None:
        self._version = version
        self._loop = asyncio.get_running_loop()
        self._welcome: asyncio.Future[Answer] = self._loop.create_future()
        self._closed: asyncio.Future[None] = self._loop.create_future()
        self._flights: dict[int, asyncio.Future[Answer]] = {}
        self._buffer = bytearray()
        self._limits: dict[int, int] = {}
        self._window = asyncio.Semaphore(_WINDOW)
        self._writable = asyncio.Event()
        self._writable.set()
        self._packet_id = 0
        self._lost: Lost | None = None
        self._heard = True
        self._moved = self._loop.time()
        self._ticking: asyncio.TimerHandle | None = None
        self._transport: asyncio.Transport

    @classmethod
    async def make(cls, server: Server, guard: Guard, tls: ssl.SSLContext) -> Connection:
        """Connect. Raise RefusedAddress, OSError, TimeoutError, Lost or Refused."""
        async with asyncio.timeout(_CONNECT_SECONDS):
            connected = await guard.connect(server.host, server.port, _CONNECT_SECONDS)
            try:
                _, connection = await asyncio.get_running_loop().create_connection(
                    lambda: cls(server.version),
                    sock=connected,
                    ssl=tls if server.secure else None,
                    server_hostname=server.host if server.secure else None,
                )
            except BaseException:
                connected.close()
                raise
            try:
                await connection._enter(server)  # noqa: SLF001
            except BaseException:
                connection._transport.abort()  # noqa: SLF001
                raise
        return connection

    @property
    def usable(self) -> bool:
        """Tell whether it is still connected."""
        return self._lost is None and not self._transport.is_closing()

    async def publish(self, publication: Publication) -> Answer:
        """Return the server's acknowledgement; at QoS 0, which has none, return when all is handed to the network.

        Raise Lost. Whoever stops waiting leaves the publication under way: it counts until it is acknowledged.
        """
        refused = self._unacceptable(publication)
        if refused is not None:
            return Answer(code=refused)
        if publication.qos == 0:
            return await self._publish_and_forget(publication)
        await self._window.acquire()
        try:
            self._check_alive()
        except Lost:
            self._window.release()  # for the next one who waits
            raise
        packet_id = self._next_id()
        packet = _pack(publication, packet_id)
        if self._is_too_large(packet):
            self._window.release()
            return Answer(code=PACKET_TOO_LARGE)
        if not self._flights:
            self._moved = self._loop.time()
        flight: asyncio.Future[Answer] = self._loop.create_future()
        self._flights[packet_id] = flight
        self._transport.write(packet)
        return await flight

    async def close(self) -> None:
        """Say good-bye and end the connection, without waiting long."""
        if self._lost is None:
            self._transport.write(packets.DISCONNECT)
            self._lose(Lost("the connection was closed"))
            self._transport.close()
        try:
            async with asyncio.timeout(_CLOSING_SECONDS):
                await asyncio.shield(self._closed)
        except TimeoutError:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Keep the transport; asyncio calls it."""
        self._transport = cast("asyncio.Transport", transport)  # uvloop's is no subclass
        self._transport.set_write_buffer_limits(high=_BUFFERED)

    def connection_lost(self, exc: Exception | None) -> None:
        """Tell everyone who waits; asyncio calls it."""
        self._lose(Lost(f"the connection was lost: {exc}" if exc else "the server closed the connection"))
        self._closed.set_result(None)

    def pause_writing(self) -> None:
        """Hold back what has no window of its own; asyncio calls it."""
        self._writable.clear()

    def resume_writing(self) -> None:
        """Go on; asyncio calls it."""
        self._writable.set()

    def data_received(self, data: bytes) -> None:
        """Act on each whole packet; asyncio calls it."""
        self._heard = True
        self._buffer += data
        try:
            for kind, body in packets.take_packets(self._buffer):
                self._handle(kind, body)
        except Malformed as error:
            self._lose(Lost(f"the server sent {error}"))
            self._transport.abort()

    async def _enter(self, server: Server) -> None:
        user, password = _login(server.credential)
        # 22 messages and digits: what every server of MQTT 3.1.1 has to take.
        client_id = "headrace" + secrets.token_hex(7)
        self._transport.write(packets.connect(server.version, client_id, _KEEP_ALIVE, user, password))
        answer = await self._welcome
        if answer.code:
            raise Refused(answer)
        self._limits = answer.properties
        self._window = asyncio.Semaphore(min(_WINDOW, self._limits.get(Property.RECEIVE_MAXIMUM, _WINDOW)))
        self._tick()

    async def _publish_and_forget(self, publication: Publication) -> Answer:
        packet = _pack(publication, 0)
        if self._is_too_large(packet):
            return Answer(code=PACKET_TOO_LARGE)
        await self._writable.wait()
        self._check_alive()
        self._transport.write(packet)
        while self._transport.get_write_buffer_size():  # noqa: ASYNC110  # nobody tells when it is empty
            await asyncio.sleep(_WRITE_SECONDS)
        self._check_alive()
        return Answer()

    def _check_alive(self) -> None:
        if self._transport.is_closing():
            raise self._lost or Lost("the connection was lost")

    def _handle(self, kind: int, body: bytes) -> None:
        match kind:
            case Packet.PUBACK | Packet.PUBCOMP:
                self._settle(packets.read_acknowledgement(self._version, body))
            case Packet.PUBREC:
                answer = packets.read_acknowledgement(self._version, body)
                if answer.code >= FAILED:
                    self._settle(answer)
                else:
                    self._moved = self._loop.time()
                    self._transport.write(packets.pubrel(answer.packet_id))
            case Packet.CONNACK if not self._welcome.done():
                self._welcome.set_result(packets.read_connack(self._version, body))
            case Packet.DISCONNECT:
                answer = packets.read_disconnect(body)
                said = f"the server ended the connection, code 0x{answer.code:02x} {answer.reason}".rstrip()
                self._lose(Lost(said, answer.code))
                self._transport.close()
            case Packet.PINGRESP:
                pass
            case _:
                raise Malformed(f"a packet of type {kind}, which no publisher gets")

    def _settle(self, answer: Answer) -> None:
        flight = self._flights.pop(answer.packet_id, None)
        if flight is None:
            return
        self._moved = self._loop.time()
        self._window.release()
        if not flight.done():
            flight.set_result(answer)

    def _next_id(self) -> int:
        while True:
            self._packet_id = self._packet_id % 65_535 + 1
            if self._packet_id not in self._flights:
                return self._packet_id

    def _unacceptable(self, publication: Publication) -> int | None:
        """Return the code that the server would end the connection with."""
        if publication.qos > self._limits.get(Property.MAXIMUM_QOS, 2):
            return QOS_NOT_SUPPORTED
        if publication.retain and not self._limits.get(Property.RETAIN_AVAILABLE, 1):
            return RETAIN_NOT_SUPPORTED
        return None

    def _is_too_large(self, packet: bytes) -> bool:
        return len(packet) > self._limits.get(Property.MAXIMUM_PACKET_SIZE, len(packet))

    def _tick(self) -> None:
        """Ping, and give a connection up that answers no ping or acknowledges nothing."""
        found = self._silence()
        if found is not None:
            self._lose(Lost(found))
            self._transport.abort()
            return
        self._heard = False
        self._transport.write(packets.PINGREQ)
        keep_alive = self._limits.get(Property.SERVER_KEEP_ALIVE, _KEEP_ALIVE) or _KEEP_ALIVE
        self._ticking = self._loop.call_later(keep_alive / 2, self._tick)

    def _silence(self) -> str | None:
        if not self._heard:
            return "the server doesn't answer pings"
        if self._flights and self._moved + _STUCK_SECONDS < self._loop.time():
            return f"the server acknowledged nothing for {_STUCK_SECONDS:g} s"
        return None

    def _lose(self, lost: Lost) -> None:
        """Fail what is under way, and let those in that wait for their turn, so that they see it."""
        if self._lost is not None:
            return
        self._lost = lost
        if self._ticking is not None:
            self._ticking.cancel()
        if not self._welcome.done():
            self._welcome.set_exception(lost)
        for flight in self._flights.values():
            self._window.release()
            if not flight.done():
                flight.set_exception(lost)
        self._flights.clear()
        self._writable.set()


def _pack(publication: Publication, packet_id: int) -> bytes:
    return packets.publish(
        publication.topic,
        publication.qos,
        packet_id,
        publication.properties,
        publication.payload,
        retain=publication.retain,
    )


def _login(credential: Plain | Token | None) -> tuple[str | None, str | None]:
    """MQTT has a user name and a password: a token goes as the password of a user that is called by its type."""
    match credential:
        case Plain(identifier, secret):
            return identifier, secret
        case Token(type=kind, value=value):
            return kind, value
    return None, None
