"""Delivery over MQTT 3.1.1 and 5: one publication per event, done when it is acknowledged (at QoS 0: written)."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.protocols.broker_sender import BrokerSender, unforeseen
from headrace.delivery.protocols.mqtt.connection import FAILED, Connection, Lost, Publication, Refused, Server
from headrace.delivery.protocols.mqtt.packets import Answer, TooLong, Version, publish_properties
from headrace.events.bindings.mqtt import MqttMessage, encode_binary, encode_structured

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.attempt.target import Target

_PORTS = {"mqtt": 1883, "mqtts": 8883}
_VERSIONS = {"MQTT3": Version.V3, "MQTT5": Version.V5}
_ENCODERS = {"binary": encode_binary, "structured": encode_structured}

_CODES_3 = {
    1: "unacceptable protocol version",
    2: "client identifier rejected",
    3: "server unavailable",
    4: "bad user name or password",
    5: "not authorized",
}
_CODES_5 = {
    0x80: "unspecified error",
    0x81: "malformed packet",
    0x82: "protocol error",
    0x83: "implementation specific error",
    0x84: "unsupported protocol version",
    0x85: "client identifier not valid",
    0x86: "bad user name or password",
    0x87: "not authorized",
    0x88: "server unavailable",
    0x89: "server busy",
    0x8A: "banned",
    0x8C: "bad authentication method",
    0x90: "topic name invalid",
    0x91: "packet identifier in use",
    0x92: "packet identifier not found",
    0x95: "packet too large",
    0x97: "quota exceeded",
    0x99: "payload format invalid",
    0x9A: "retain not supported",
    0x9B: "QoS not supported",
    0x9C: "use another server",
    0x9D: "server moved",
    0x9F: "connection rate exceeded",
}
# How a server says when connecting that the credential isn't right; servers don't keep the two codes apart.
_UNAUTHORIZED = {4, 5, 0x86, 0x87}
# What lies in the subscription or the event, and stays as it is however often it is tried.
_HOPELESS = {1, 4, 5, 0x81, 0x84, 0x86, 0x87, 0x8A, 0x8C, 0x90, 0x95, 0x99, 0x9A, 0x9B}


class MqttSender(BrokerSender[Connection]):
    """Connections are shared by subscriptions with equal version, server and credential."""

    def _sharing(self, target: Target) -> Server:
        return _server(target)

    async def _make(self, target: Target) -> Connection:
        return await Connection.make(_server(target), self._guard, self._tls)

    async def _send(self, client: Connection, target: Target, payload: Payload) -> Outcome:
        answer = await client.publish(_publication(target, payload))
        if answer.code < FAILED:
            return Outcome(Verdict.DONE, status=answer.code or None)
        verdict = Verdict.NEVER if answer.code in _HOPELESS else Verdict.AGAIN
        return Outcome(verdict, _said(answer), answer.code)

    def _judge(self, error: Exception, target: Target) -> Outcome:  # noqa: ARG002
        match error:
            case Refused(answer=answer):
                verdict = Verdict.NEVER if answer.code in _HOPELESS else Verdict.AGAIN
                told = f"the server refused the connection: {_said(answer)}"
                return Outcome(verdict, told, answer.code, unauthorized=answer.code in _UNAUTHORIZED)
            case Lost(code=code):
                # The server may have meant another publication on this connection: this one is never given up for it.
                return Outcome(Verdict.AGAIN, str(error), code)
            case TooLong():
                return Outcome(Verdict.NEVER, str(error))
        return unforeseen(error)


def _server(target: Target) -> Server:
    parts = urlsplit(target.uri)
    return Server(
        version=_VERSIONS[target.protocol],
        host=parts.hostname or "",
        port=parts.port or _PORTS[parts.scheme],
        secure=parts.scheme == "mqtts",
        credential=target.credential,
    )


def _publication(target: Target, payload: Payload) -> Publication:
    settings, arrival = target.settings, payload.recorded.arrival
    message = _ENCODERS[settings["mode"]](arrival.event)
    properties = b""
    if target.protocol == "MQTT5":
        more = [*settings.get("userproperties", {}).items(), *_trace(message, payload)]
        properties = publish_properties(
            message.content_type, [*message.user_properties, *more], settings.get("expiry")
        )
    return Publication(
        topic=settings["topicname"],
        qos=settings.get("qos", 1),
        retain=settings.get("retain", False),
        properties=properties,
        payload=message.payload,
    )


def _trace(message: MqttMessage, payload: Payload) -> list[tuple[str, str]]:
    """Return the trace that an event came with, unless it would be read as attributes, which have no prefix here."""
    return [] if message.user_properties else payload.trace()


def _said(answer: Answer) -> str:
    known = (_CODES_5 if answer.code >= FAILED else _CODES_3).get(answer.code, "refused")
    code = f"0x{answer.code:02x}" if answer.code >= FAILED else str(answer.code)
    return f"{known} (code {code})" + (f": {answer.reason}" if answer.reason else "")
