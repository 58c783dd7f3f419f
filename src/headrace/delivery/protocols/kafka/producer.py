"""A Kafka producer all of whose connections go through the guard, those to brokers that only the metadata names too.

aiokafka makes every connection in `aiokafka.client.create_conn`; ours stands in its place. Whose guard it asks is in a
context variable, which all tasks of a producer inherit from its start; without it nothing is connected.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import aiokafka.client
import aiokafka.conn
from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka_errors
from aiokafka.abc import AbstractTokenProvider

from headrace.secrets.credential import Plain, Token

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable

    from headrace.delivery.sinks.guard import Guard
    from headrace.events.bindings.kafka import KafkaMessage

# How long a broker gets for one request, and a record for all of its tries within the client.
_REQUEST_SECONDS = 10.0
_CLOSING_SECONDS = 3.0
# How often a topic is asked for before it is unknown: a broker that makes topics itself needs a moment.
_LOOKS_FOR_TOPIC, _LOOK_SECONDS = 5, 0.1
# Fewer would give up a cluster that is only slow; with more, brokers that moved are found late.
_MISSES = 3
_BATCH_BYTES = 256 << 10
_REQUEST_BYTES = 64 << 20
_RESPONSE_BYTES = 16 << 20
_SHOWN_BYTES = 200

# What goes wrong is the outcome of an attempt; the client would say it once more for each connection and retry.
logging.getLogger("aiokafka").setLevel(logging.CRITICAL)


@dataclass(frozen=True, slots=True)
class Cluster:
    """Everything that a producer is made of."""

    hosts: tuple[tuple[str, int], ...]
    secure: bool
    client_id: str
    acks: str
    mechanism: str
    credential: Plain | Token | None


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
        made = await self._guard.connect(host, port, _REQUEST_SECONDS)
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


_MOST_TRANSPORTS = 64
_connector: ContextVar[Connector] = ContextVar("connector")


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
        self._loop: Any = _Loop(loop, _connector.get())
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
    connector = _connector.get()
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


class _Bearer(AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, token: str) -> None:
        self._token = token

    async def token(self) -> str:
        return self._token


class Producer:
    """Sends records and waits for the acknowledgement that the cluster's `acks` ask for."""

    def __init__(self, cluster: Cluster, guard: Guard, tls: ssl.SSLContext) -> None:
        self._connector = Connector(guard)
        self._client = AIOKafkaProducer(
            bootstrap_servers=[_joined(host, port) for host, port in cluster.hosts],
            client_id=cluster.client_id,
            acks="all" if cluster.acks == "all" else int(cluster.acks),
            request_timeout_ms=int(_REQUEST_SECONDS * 1000),
            max_batch_size=_BATCH_BYTES,
            max_request_size=_REQUEST_BYTES,
            ssl_context=tls if cluster.secure else None,
            **_login(cluster),
        )
        self._topics: set[str] = set()
        self._misses = 0

    @property
    def usable(self) -> bool:
        """Tell whether it still finds its brokers. One that doesn't is made anew, from the addresses of the sink."""
        return self._misses < _MISSES

    @property
    def failure(self) -> Exception | None:
        """Why the last connection to a broker wasn't made."""
        return self._connector.failure

    async def start(self) -> None:
        """Find the brokers. Raise RefusedAddress, OSError or KafkaError."""
        _connector.set(self._connector)
        try:
            await self._client.start()
        except kafka_errors.KafkaError as error:
            await self.close()
            raise self.failure or error from None
        except BaseException:
            await self.close()
            raise

    async def send(self, topic: str, key: bytes | None, message: KafkaMessage) -> None:
        """Return when the record is acknowledged, or raise KafkaError."""
        if not self._client.client.cluster.partitions_for_topic(topic):
            await self._find(topic)
        if key is None and message.value is None:  # which the client takes in a batch only
            await self._send_alone(topic, key, message)
        else:
            acknowledged = await self._client.send(topic, message.value, key=key, headers=message.headers)
            try:
                await acknowledged
            except (kafka_errors.MessageSizeTooLargeError, kafka_errors.RecordListTooLargeError):
                # The broker refused a batch. This record may have been a small one in it.
                await self._send_alone(topic, key, message)
        self._misses = 0

    def missed(self, *, for_good: bool = False) -> None:
        """Note that brokers weren't reached, or that the client is of no use any more."""
        self._misses = _MISSES if for_good else self._misses + 1

    async def close(self) -> None:
        """End it; records that nobody waits for any more may be lost or not."""
        stopping = asyncio.create_task(self._client.stop())
        await asyncio.wait({stopping}, timeout=_CLOSING_SECONDS)
        if not stopping.done():
            self._connector.abort()
            await self._break_off(stopping)
        stopping.exception() if not stopping.cancelled() else None
        self._connector.abort()

    async def _break_off(self, stopping: asyncio.Task[None]) -> None:
        """Stop without what the brokers still owe: the client alone would wait for them."""
        tasks = [stopping, *filter(None, [self._client._sender.sender_task])]  # noqa: SLF001
        with suppress(kafka_errors.KafkaError, OSError):
            await self._client.client.close()
        while tasks:
            for task in tasks:
                task.cancel()
            _, pending = await asyncio.wait(tasks, timeout=0.1)
            tasks = list(pending)

    async def _send_alone(self, topic: str, key: bytes | None, message: KafkaMessage) -> None:
        batch = self._client.create_batch()
        batch.append(timestamp=None, key=key, value=message.value, headers=message.headers)
        batch.close()
        partition = self._client._partition(topic, None, key, None, key, None)  # noqa: SLF001
        await (await self._client.send_batch(batch, topic, partition=partition))

    async def _find(self, topic: str) -> None:
        cluster = self._client.client.cluster
        self._topics.add(topic)
        self._client.client.add_topic(topic)
        for _ in range(_LOOKS_FOR_TOPIC):
            reached = await self._client.client.force_metadata_update()
            if not reached:
                raise self.failure or kafka_errors.KafkaConnectionError("no broker answers")
            if cluster.partitions_for_topic(topic):
                return
            if topic in cluster.unauthorized_topics:
                self._leave_out(topic)
                raise kafka_errors.TopicAuthorizationFailedError(topic)
            await asyncio.sleep(_LOOK_SECONDS)
        self._leave_out(topic)
        raise kafka_errors.UnknownTopicOrPartitionError(topic)

    def _leave_out(self, topic: str) -> None:
        """Ask for this topic no more, until someone wants it again."""
        self._topics.discard(topic)
        self._client.client.set_topics(self._topics)


def _login(cluster: Cluster) -> dict[str, Any]:
    transport = "SSL" if cluster.secure else "PLAINTEXT"
    match cluster.credential:
        case None:
            return {"security_protocol": transport}
        case Token(value=value):
            return {
                "security_protocol": f"SASL_{transport}",
                "sasl_mechanism": "OAUTHBEARER",
                "sasl_oauth_token_provider": _Bearer(value),
            }
        case Plain(identifier, secret):
            return {
                "security_protocol": f"SASL_{transport}",
                "sasl_mechanism": cluster.mechanism,
                "sasl_plain_username": identifier,
                "sasl_plain_password": secret,
            }


def _joined(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
