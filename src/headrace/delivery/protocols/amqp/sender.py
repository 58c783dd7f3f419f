"""Delivery over AMQP 1.0: one message per event, done when the other side accepted it (sent settled: when written)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proton import Delivery, Message

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import path_of
from headrace.delivery.protocols.amqp.connection import UNAUTHORIZED, Connection, Server
from headrace.delivery.protocols.amqp.link import Ended, LinkSpec, TooLarge
from headrace.delivery.protocols.broker_sender import BrokerSender, unforeseen
from headrace.events.bindings.amqp import encode_binary, encode_structured

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target

_PORTS = {"amqp": 5672, "amqps": 5671}
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class AmqpSender(BrokerSender[Connection]):
    """Connections are shared by subscriptions with equal server and credential; equal links are shared on them."""

    unanswered = "not accepted"

    def _sharing(self, target: Target) -> Server:
        return _server(target, _link(target))

    async def _make(self, target: Target) -> Connection:
        return await Connection.make(_server(target, _link(target)), self._guard, self._tls)

    async def _send(self, client: Connection, target: Target, payload: Payload) -> Outcome:
        settlement = await client.send(_link(target), _message(payload, target.settings["mode"]))
        match settlement.state:
            case Delivery.ACCEPTED:
                return Outcome(Verdict.DONE)
            case Delivery.REJECTED:
                said = ": ".join(filter(None, ("rejected", settlement.condition, settlement.description)))
                return Outcome(Verdict.NEVER, said)
            case Delivery.RELEASED:
                return Outcome(Verdict.AGAIN, "released: the node has no place for it now")
            case Delivery.MODIFIED:
                return Outcome(Verdict.AGAIN, "modified: the node could not process it")
        return Outcome(Verdict.AGAIN, "settled without an outcome")

    def _judge(self, error: Exception, target: Target) -> Outcome:  # noqa: ARG002
        match error:
            case Ended(condition=condition) if condition == UNAUTHORIZED:
                told = f"the server refused the credential: {error}"
                return Outcome(Verdict.NEVER, told, unauthorized=True)
            case TooLarge():
                return Outcome(Verdict.NEVER, str(error))
            case Ended():
                return Outcome(Verdict.AGAIN, str(error))
        return unforeseen(error)


def _server(target: Target, link: LinkSpec) -> Server:
    parts = urlsplit(target.uri)
    return Server(
        host=parts.hostname or "",
        port=parts.port or _PORTS[parts.scheme],
        secure=parts.scheme == "amqps",
        credential=target.credential,
        apart=link if link.name else None,
    )


def _link(target: Target) -> LinkSpec:
    settings = target.settings
    return LinkSpec(
        address=settings.get("address") or path_of(target.uri),
        name=settings.get("linkname"),
        settled=settings.get("sendersettlementmode") == "settled",
        properties=tuple(sorted(settings.get("linkproperties", {}).items())),
    )


def _message(payload: Payload, mode: str) -> bytes:
    """Write a message that outlives a restart of the broker, with the trace that the event came with."""
    content = _ENCODERS[mode](payload.recorded.arrival.event)
    properties: dict[str, Any] = content.properties | dict(payload.trace())
    message = Message(durable=True, inferred=True, properties=properties or None, body=content.body)
    if content.content_type is not None:
        message.content_type = content.content_type
    return bytes(message.encode())
