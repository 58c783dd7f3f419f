"""Events in AMQP 1.0 messages: binary and structured mode. Pure functions, no client.

Attributes are application properties with the prefix `cloudEvents_`, which JMS can name too; `cloudEvents:` is the
other prefix of the binding, and is read as well. Booleans and integers go as AMQP's own types. Times go as text: AMQP's
timestamp has milliseconds and no time zone, and an event leaves as it came. A message without a data section has no
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.attributes import faults, shown
from headrace.events.bindings.binary_mode import binary_parts
from headrace.events.bindings.http import Mode, mode_of
from headrace.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

Property = str | bool | int

_PREFIX = "cloudEvents_"
_OTHER_PREFIX = "cloudEvents:"


@dataclass(frozen=True, slots=True)
class AmqpMessage:
    """The sections of a bare message that an event fills. An int is an AMQP long. No body, no data section."""

    content_type: str | None
    properties: dict[str, Property]
    body: bytes | None


def encode_binary(event: Event) -> AmqpMessage:
    """Write attributes as properties and data as the body; what only structured mode can carry leaves in it."""
    parts = binary_parts(event)
    if parts is None:
        return encode_structured(event)
    properties = {_PREFIX + name: _native(event.attributes[name], text) for name, text in parts.attributes}
    return AmqpMessage(parts.content_type, properties, parts.data)


def encode_structured(event: Event) -> AmqpMessage:
    """Write the event as a JSON document, `json_format.encode`."""
    return AmqpMessage(json_format.MEDIA_TYPE, {}, json_format.encode(event))


def decode(content_type: str | None, properties: Mapping[str, Any], body: bytes | None) -> Event:
    """Read the event of a message in either mode. Raise `InvalidEvent` with every fault, or `UnsupportedFormat`."""
    mode = mode_of(content_type)
    if mode is Mode.STRUCTURED:
        return json_format.decode(body or b"")
    if mode is Mode.BATCHED:
        raise UnsupportedFormat(json_format.BATCH_MEDIA_TYPE, ["one event per message"])
    attributes: dict[str, Any] = {}
    found: list[str] = []
    for full, value in properties.items():
        prefix = full[: len(_PREFIX)]
        if prefix not in (_PREFIX, _OTHER_PREFIX):
            continue
        name = full[len(_PREFIX) :]
        if name in attributes:
            found.append(f"property {shown(name)} stands there with both prefixes")
        attributes[name] = value
    if "datacontenttype" in attributes:
        found.append("property 'datacontenttype' is not allowed: the media type belongs in content-type")
    if content_type is not None:
        attributes["datacontenttype"] = content_type
    found += faults(attributes)
    if found:
        raise InvalidEvent(found)
    return Event(attributes, body)


def _native(value: object, text: str) -> Property:
    return value if isinstance(value, bool | int) else text
