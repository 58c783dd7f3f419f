"""Delivery to NATS: one message per event, done when the server has it, or a stream has stored it."""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING

import nats.errors

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import hosts_of
from headrace.delivery.protocols.broker_sender import BrokerSender, unforeseen
from headrace.delivery.protocols.nats.connection import Connection, Denied, NotStored, Servers, TooLarge
from headrace.events.bindings.nats import NatsMessage, encode_binary, encode_structured

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target

_PORT = 4222
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class NatsSender(BrokerSender[Connection]):
    """Connections are shared by subscriptions with equal servers and credentials."""

    def _sharing(self, target: Target) -> tuple[object, ...]:
        return target.uri, target.credential

    async def _make(self, target: Target) -> Connection:
        servers = Servers(hosts_of(target.uri, _PORT), target.uri.startswith("tls:"), target.credential)
        return await Connection.make(servers, self._guard, self._tls)

    async def _send(self, client: Connection, target: Target, payload: Payload) -> Outcome:
        subject, message = target.settings["subject"], _message(payload, target.settings["mode"])
        if target.settings.get("jetstream"):
            message.headers["Nats-Msg-Id"] = _message_id(target, payload)
            await client.store(subject, message)
        else:
            await client.publish(subject, message)
        return Outcome(Verdict.DONE)

    def _judge(self, error: Exception, target: Target) -> Outcome:
        subject = target.settings["subject"]
        match error:
            case Denied():
                return Outcome(Verdict.NEVER, f"this user may not publish to subject {subject!r}")
            case TooLarge() | nats.errors.MaxPayloadError():
                return Outcome(Verdict.NEVER, str(error))
            case nats.errors.BadSubjectError():
                return Outcome(Verdict.NEVER, f"{subject!r} is no subject that one can publish to")
            case NotStored():
                verdict = Verdict.NEVER if error.code == 400 else Verdict.AGAIN
                return Outcome(verdict, f"subject {subject!r}: {error}", error.number or error.code)
        if "authorization violation" in str(error).lower():
            told = "the server refused the credential, or asks for one"
            return Outcome(Verdict.NEVER, told, unauthorized=True)
        return unforeseen(error)


def _message(payload: Payload, mode: str) -> NatsMessage:
    message = _ENCODERS[mode](payload.recorded.arrival.event)
    message.headers.update(payload.trace())
    return message


def _message_id(target: Target, payload: Payload) -> str:
    """Name this delivery: the same at every attempt, another for another event, subscription or subject."""
    event = payload.recorded.arrival.event
    what = "\0".join((target.settings["subject"], event.source, event.id))
    return f"{target.owner}-{payload.recorded.position}-{blake2b(what.encode(), digest_size=8).hexdigest()}"
