"""Delivery to Kafka: one record per event, done when the broker has acknowledged it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from aiokafka import errors as kafka_errors

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import hosts_of, path_of
from headrace.delivery.protocols.clients import Clients
from headrace.delivery.protocols.kafka.producer import Cluster, Producer
from headrace.delivery.sinks.guard import refusal
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefusedAddress
from headrace.events.bindings.kafka import KafkaMessage, encode_binary, encode_structured, key_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.sinks.guard import Guard

_PORT = 9092
_MOST_PRODUCERS = 256
_IDLE_SECONDS = 300.0
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}
_KEY = "partitionkey"

# Asking again doesn't help: it is the record, the name or the right that is wrong. Everything else may heal.
_STAYS_WRONG = (
    kafka_errors.MessageSizeTooLargeError,
    kafka_errors.RecordListTooLargeError,
    kafka_errors.InvalidTopicError,
    kafka_errors.InvalidRequiredAcksError,
    kafka_errors.InvalidTimestampError,
    kafka_errors.TopicAuthorizationFailedError,
    kafka_errors.ClusterAuthorizationFailedError,
    kafka_errors.UnsupportedSaslMechanismError,
    kafka_errors.IllegalSaslStateError,
    kafka_errors.SaslAuthenticationFailed,
    kafka_errors.UnsupportedForMessageFormatError,
    kafka_errors.PolicyViolationError,
)
_UNREACHED = (
    OSError,
    kafka_errors.KafkaConnectionError,
    kafka_errors.KafkaTimeoutError,
    kafka_errors.NodeNotReadyError,
    kafka_errors.RequestTimedOutError,
    kafka_errors.StaleMetadata,
)


class KafkaSender:
    """Producers are shared by subscriptions with equal servers, credentials and client settings."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._tls = tls_context(ca_file)
        self._producers: Clients[Producer] = Clients(_MOST_PRODUCERS, _IDLE_SECONDS)

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt."""
        [payload] = payloads
        topic = target.settings.get("topicname") or path_of(target.uri)
        key = key_of(payload.recorded.arrival.event, target.settings.get("partitionkeyextractor", _KEY))
        message = _message(payload, target.settings["mode"])
        producer: Producer | None = None
        try:
            async with (
                asyncio.timeout(target.timeout),
                self._producers.use(_sharing(target), target.owner, lambda: self._make(target)) as producer,
            ):
                await producer.send(topic, key, message)
        except TimeoutError:
            return _late(target.timeout, producer)
        except Exception as error:  # noqa: BLE001  # a sender raises nothing
            if producer is not None:
                _note(producer, error)
            return _judge(error, topic)
        return Outcome(Verdict.DONE)

    async def forget(self, owner: str) -> None:
        """Close producers that no other subscription uses."""
        await self._producers.forget(owner)

    async def close(self) -> None:
        """Close all producers."""
        await self._producers.close()

    async def _make(self, target: Target) -> Producer:
        producer = Producer(_cluster(target), self._guard, self._tls)
        await producer.start()
        return producer


def _sharing(target: Target) -> tuple[object, ...]:
    """Return what has to be equal for a producer to be shared: all that it is made of. Every delivery asks for it."""
    get = target.settings.get
    return target.uri, get("clientid"), get("acks"), get("saslmechanism"), target.credential


def _cluster(target: Target) -> Cluster:
    settings = target.settings
    return Cluster(
        hosts_of(target.uri, _PORT),
        target.uri.startswith("kafkas:"),
        settings.get("clientid", "headrace"),
        settings.get("acks", "all"),
        settings.get("saslmechanism", "PLAIN"),
        target.credential,
    )


def _message(payload: Payload, mode: str) -> KafkaMessage:
    arrival = payload.recorded.arrival
    message = _ENCODERS[mode](arrival.event)
    for name, value in (("traceparent", arrival.traceparent), ("tracestate", arrival.tracestate)):
        if value is not None:
            message.headers.append((name, value.encode()))
    return message


def _late(timeout: float, producer: Producer | None) -> Outcome:
    reason = f"no acknowledgement within {timeout:g} s"
    if producer is not None:
        producer.missed()
        if isinstance(producer.failure, RefusedAddress):
            return refusal(producer.failure)
        if producer.failure is not None:
            return Outcome(Verdict.AGAIN, f"{reason}: {_shown(producer.failure)}")
    return Outcome(Verdict.AGAIN, reason)


def _note(producer: Producer, error: Exception) -> None:
    if isinstance(error, _UNREACHED):
        producer.missed()
    elif not isinstance(error, kafka_errors.BrokerResponseError):
        producer.missed(for_good=True)  # its own tasks have ended, or it is in a state that nobody foresaw


def _judge(error: Exception, topic: str) -> Outcome:
    if isinstance(error, RefusedAddress):
        return refusal(error)
    verdict = Verdict.NEVER if isinstance(error, _STAYS_WRONG) else Verdict.AGAIN
    if isinstance(error, kafka_errors.BrokerResponseError):
        unauthorized = isinstance(error, kafka_errors.SaslAuthenticationFailed)
        told = f"topic {topic!r}: {_shown(error)}"
        return Outcome(verdict, told, error.errno, unauthorized=unauthorized)
    return Outcome(verdict, _shown(error))


def _shown(error: Exception) -> str:
    if isinstance(error, kafka_errors.BrokerResponseError):
        detail = ", ".join(str(each) for each in error.args if each)
        return f"{error.message}: {detail}" if detail else f"{error.message}: {error.description}"
    return f"{type(error).__name__}: {error}"
