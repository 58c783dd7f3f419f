"""A Kafka producer all of whose connections go through the guard."""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from aiokafka import AIOKafkaProducer
from aiokafka import errors as kafka_errors
from aiokafka.abc import AbstractTokenProvider

from headrace.delivery.protocols.kafka.connection import CONNECTOR, Connector
from headrace.secrets.credential import Plain, Token

if TYPE_CHECKING:
    import ssl

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
        CONNECTOR.set(self._connector)
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
