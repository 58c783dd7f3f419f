"""Delivery over AMQP 1.0: one message per event, done when the other side accepted it (sent settled: when written)."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from proton import Delivery, Message

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.addresses import path_of
from headrace.delivery.protocols.amqp.connection import UNAUTHORIZED, Connection, Server
from headrace.delivery.protocols.amqp.link import Ended, LinkSpec, Settlement, TooLarge
from headrace.delivery.protocols.clients import Clients
from headrace.delivery.sinks.guard import refusal
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefusedAddress
from headrace.events.bindings.amqp import encode_binary, encode_structured

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target
    from headrace.delivery.sinks.guard import Guard

_PORTS = {"amqp": 5672, "amqps": 5671}
_MOST_CONNECTIONS = 256
_IDLE_SECONDS = 300.0
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}


class AmqpSender:
    """Connections are shared by subscriptions with equal server and credential; equal links are shared on them."""

    def __init__(self, guard: Guard, ca_file: str = "") -> None:
        self._guard = guard
        self._tls = tls_context(ca_file)
        self._connections: Clients[Connection] = Clients(_MOST_CONNECTIONS, _IDLE_SECONDS)

    async def send(self, target: Target, payloads: Sequence[Payload]) -> Outcome:
        """Make one attempt."""
        [payload] = payloads
        try:
            link = _link(target)
            server, message = _server(target, link), _message(payload, target.settings["mode"])
            async with (
                asyncio.timeout(target.timeout),
                self._connections.use(server, target.owner, lambda: self._make(server)) as connection,
            ):
                settlement = await connection.send(link, message)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"not accepted within {target.timeout:g} s")
        except Exception as error:  # noqa: BLE001  # a sender raises nothing
            return _judge_error(error)
        return _judge(settlement)

    async def forget(self, owner: str) -> None:
        """Close connections that no other subscription uses."""
        await self._connections.forget(owner)

    async def close(self) -> None:
        """Close all connections."""
        await self._connections.close()

    async def _make(self, server: Server) -> Connection:
        return await Connection.make(server, self._guard, self._tls)


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
    arrival = payload.recorded.arrival
    content = _ENCODERS[mode](arrival.event)
    trace = {"traceparent": arrival.traceparent, "tracestate": arrival.tracestate}
    properties: dict[str, Any] = {**content.properties, **{k: v for k, v in trace.items() if v is not None}}
    message = Message(durable=True, inferred=True, properties=properties or None, body=content.body)
    if content.content_type is not None:
        message.content_type = content.content_type
    return bytes(message.encode())


def _judge(settlement: Settlement) -> Outcome:
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


def _judge_error(error: Exception) -> Outcome:
    match error:
        case RefusedAddress():
            return refusal(error)
        case Ended(condition=condition) if condition == UNAUTHORIZED:
            told = f"the server refused the credential: {error}"
            return Outcome(Verdict.NEVER, told, unauthorized=True)
        case TooLarge():
            return Outcome(Verdict.NEVER, str(error))
        case Ended():
            return Outcome(Verdict.AGAIN, str(error))
    return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")
