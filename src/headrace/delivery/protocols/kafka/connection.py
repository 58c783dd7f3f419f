"""Connections to Kafka brokers, all of them through the guard, those to brokers that only the metadata names too.

aiokafka makes every connection in `aiokafka.client.create_conn`; ours takes its place when this module is imported.
Whose guard it asks is in a context variable, which all tasks of a producer inherit from its start; without it nothing
is connected. A test of this module checks what of the library it rests on.
"""

from __future__ import annotations

from collections import deque
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any

import aiokafka.client
import aiokafka.conn
from aiokafka import errors as kafka_errors

if TYPE_CHECKING:
    import asyncio
    import ssl
    from collections.abc import Callable

    from headrace.delivery.sinks.guard import Guard

CONNECT_SECONDS = 10.0
_MOST_TRANSPORTS = 64
_RESPONSE_BYTES = 16 << 20
_SHOWN_BYTES = 200


class Connector:
    """The way of one producer to its brokers. `failure` is why the last connection wasn't made, if it wasn't."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard
        self.failure: Exception | None = None
        self._transports: deque[Any] = deque(maxlen=_MOST_TRANSPORTS)

    async def connect(
        self, loop: asyncio.AbstractEventLoop, factory: Callable[[], Any], host: str, port: int, ssl: Any
    ) -> Any:
        """Do what `loop.create_connection` does, to an address that the guard lets through."""
        made = await self._guard.connect(host, port, CONNECT_SECONDS)
        try:
            name = host if ssl else None
            connection = await loop.create_connection(factory, sock=made, ssl=ssl, server_hostname=name)
        except BaseException:
            made.close()
            raise
        self._transports.append(connection[0])
        return connection

    def abort(self) -> None:
        """Close what is left of connections at once: over TLS the client would wait for brokers to say goodbye."""
        while self._transports:
            self._transports.pop().abort()


CONNECTOR: ContextVar[Connector] = ContextVar("connector")
"""The way of the producer whose task this is."""


class _Loop:
    """What a connection takes for the event loop while it connects."""

    def __init__(self, loop: asyncio.AbstractEventLoop, connector: Connector) -> None:
        self._loop = loop
        self._connector = connector
        self.create_future = loop.create_future

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loop, name)

    async def create_connection(
        self, factory: Callable[[], Any], host: str, port: int, *, ssl: ssl.SSLContext | None
    ) -> Any:
        return await self._connector.connect(self._loop, factory, host, port, ssl)


class _Connection(aiokafka.conn.AIOKafkaConnection):  # type: ignore[misc]  # the library has no types
    async def connect(self) -> Any:
        loop: asyncio.AbstractEventLoop = self._loop
        self._loop: Any = _Loop(loop, CONNECTOR.get())
        try:
            return await super().connect()
        finally:
            self._loop = loop

    def _create_reader_task(self) -> Any:
        _bound(self._reader)
        return super()._create_reader_task()

    def authenticator_oauth(self) -> Any:
        return _Authenticator(sasl_oauth_token_provider=self._sasl_oauth_token_provider)


class _Authenticator(aiokafka.conn.OAuthAuthenticator):  # type: ignore[misc]
    """Reads the broker's answer to a token: one that is not empty says what is wrong with it."""

    async def step(self, payload: bytes | None) -> Any:
        if payload:
            raise kafka_errors.SaslAuthenticationFailed(payload[:_SHOWN_BYTES].decode(errors="replace"))
        return await super().step(payload)


def _bound(reader: asyncio.StreamReader) -> None:
    """Refuse answers of a size that no broker sends: who names a sink could fill the memory with them."""
    read = reader.readexactly

    async def readexactly(size: int) -> bytes:
        if not 0 <= size <= _RESPONSE_BYTES:
            raise kafka_errors.KafkaProtocolError(f"an answer of {size} bytes: is this a Kafka broker?")
        return await read(size)

    reader.readexactly = readexactly  # type: ignore[assignment, method-assign]


async def _create_connection(host: str, port: int, **options: Any) -> _Connection:
    connector = CONNECTOR.get()
    connection = _Connection(host, port, **options)
    try:
        await connection.connect()
    except (kafka_errors.KafkaError, OSError) as error:
        connector.failure = error
        raise
    except (
        Exception
    ) as error:  # refused, or broken answers: the client's tasks would end with any other error
        connector.failure = error
        raise kafka_errors.KafkaConnectionError(str(error)) from error
    connector.failure = None
    return connection


if getattr(aiokafka.client, "create_conn", None) not in (aiokafka.conn.create_conn, _create_connection):
    raise ImportError("this version of aiokafka connects in a way that can't be guarded")
aiokafka.client.create_conn = _create_connection
