"""Delivery to NATS: one message per event, done when the server has it, or a stream has stored it."""

from __future__ import annotations

import asyncio
from hashlib import blake2b
from typing import TYPE_CHECKING

import nats.errors

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import hosts_of
from headrace.delivery.protocols.clients import Clients
from headrace.delivery.protocols.nats.connection import Connection, Denied, NotStored, Servers, TooLarge
from headrace.delivery.sinks.guard import refusal
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefusedAddress
from headrace.events.bindings.nats import NatsMessage, encode_binary, encode_structured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.sinks.guard import Guard

_PORT = 4222
_MOST_CONNECTIONS = 256
_IDLE_SECONDS = 300.0
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class NatsSender:
    """Connections are shared by subscriptions with equal servers and credentials."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._tls = tls_context(ca_file)
        self._connections: Clients[Connection] = Clients(_MOST_CONNECTIONS, _IDLE_SECONDS)

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt."""
        [payload] = payloads
        subject, message = target.settings["subject"], _message(payload, target.settings["mode"])
        try:
            async with (
                asyncio.timeout(target.timeout),
                self._connections.use(
                    (target.uri, target.credential), target.owner, lambda: self._make(target)
                ) as connection,
            ):
                if target.settings.get("jetstream"):
                    message.headers["Nats-Msg-Id"] = _message_id(target, payload)
                    await connection.store(subject, message)
                else:
                    await connection.publish(subject, message)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no acknowledgement within {target.timeout:g} s")
        except Exception as error:  # noqa: BLE001  # a sender raises nothing
            return _judge(error, subject)
        return Outcome(Verdict.DONE)

    async def forget(self, owner: str) -> None:
        """Close connections that no other subscription uses."""
        await self._connections.forget(owner)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def _make(self, target: Target) -> Connection:
        servers = Servers(hosts_of(target.uri, _PORT), target.uri.startswith("tls:"), target.credential)
        return await Connection.make(servers, self._guard, self._tls)


def _message(payload: Payload, mode: str) -> NatsMessage:
    arrival = payload.recorded.arrival
    message = _ENCODERS[mode](arrival.event)
    for name, value in (("traceparent", arrival.traceparent), ("tracestate", arrival.tracestate)):
        if value is not None:
            message.headers[name] = value
    return message


def _message_id(target: Target, payload: Payload) -> str:
    """Name this delivery: the same at every attempt, another for another event, subscription or subject."""
    event = payload.recorded.arrival.event
    what = "\0".join((target.settings["subject"], event.source, event.id))
    return f"{target.owner}-{payload.recorded.position}-{blake2b(what.encode(), digest_size=8).hexdigest()}"


def _judge(error: Exception, subject: str) -> Outcome:  # noqa: PLR0911  # a table, one line each
    match error:
        case RefusedAddress():
            return refusal(error)
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
    return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")
