"""Delivery to Kafka: one record per event, done when the broker has acknowledged it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from aiokafka import errors as kafka_errors

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import hosts_of, path_of
from headrace.delivery.protocols.broker_sender import BrokerSender
from headrace.delivery.protocols.kafka.producer import Cluster, Producer
from headrace.delivery.sinks.guard import refusal
from headrace.errors import RefusedAddress
from headrace.events.bindings.kafka import KafkaMessage, encode_binary, encode_structured, key_of

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target

_PORT = 9092
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


class KafkaSender(BrokerSender[Producer]):
    """Producers are shared by subscriptions with equal servers, credentials and client settings."""

    def _sharing(self, target: Target) -> tuple[object, ...]:
        get = target.settings.get
        return target.uri, get("clientid"), get("acks"), get("saslmechanism"), target.credential

    async def _make(self, target: Target) -> Producer:
        producer = Producer(_cluster(target), self._guard, self._tls)
        await producer.start()
        return producer

    async def _send(self, client: Producer, target: Target, payload: Payload) -> Outcome:
        key = key_of(payload.recorded.arrival.event, target.settings.get("partitionkeyextractor", _KEY))
        await client.send(_topic(target), key, _message(payload, target.settings["mode"]))
        return Outcome(Verdict.DONE)

    def _late(self, client: Producer | None, reason: str) -> Outcome:
        if client is not None:
            client.missed()
            if isinstance(client.failure, RefusedAddress):
                return refusal(client.failure)
            if client.failure is not None:
                return Outcome(Verdict.AGAIN, f"{reason}: {_shown(client.failure)}")
        return Outcome(Verdict.AGAIN, reason)

    def _failed(self, client: Producer, error: Exception) -> None:
        if isinstance(error, _UNREACHED):
            client.missed()
        elif not isinstance(error, kafka_errors.BrokerResponseError):
            client.missed(for_good=True)  # its own tasks have ended, or it is in a state that nobody foresaw

    def _judge(self, error: Exception, target: Target) -> Outcome:
        verdict = Verdict.NEVER if isinstance(error, _STAYS_WRONG) else Verdict.AGAIN
        if isinstance(error, kafka_errors.BrokerResponseError):
            unauthorized = isinstance(error, kafka_errors.SaslAuthenticationFailed)
            told = f"topic {_topic(target)!r}: {_shown(error)}"
            return Outcome(verdict, told, error.errno, unauthorized=unauthorized)
        return Outcome(verdict, _shown(error))


def _topic(target: Target) -> str:
    return target.settings.get("topicname") or path_of(target.uri)


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
    message = _ENCODERS[mode](payload.recorded.arrival.event)
    message.headers.extend((name, value.encode()) for name, value in payload.trace())
    return message


def _shown(error: Exception) -> str:
    if isinstance(error, kafka_errors.BrokerResponseError):
        detail = ", ".join(str(each) for each in error.args if each)
        return f"{error.message}: {detail}" if detail else f"{error.message}: {error.description}"
    return f"{type(error).__name__}: {error}"
