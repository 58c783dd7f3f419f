"""Events in MQTT messages. Pure functions, no client.

MQTT 5 has binary and structured mode: attributes are user properties, named as they are, without a prefix. MQTT 3.1.1
has no properties, and an event is there always a JSON document. A message can't say the difference between no data and
empty data; structured mode carries both as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.attributes import faults, shown
from headrace.events.bindings.binary_mode import binary_parts
from headrace.events.bindings.http import Mode, mode_of
from headrace.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Iterable

_DATA_CONTENT_TYPE = "datacontenttype"


@dataclass(frozen=True, slots=True)
class MqttMessage:
    """A publication's content: what MQTT 5 says about the payload, and the payload."""

    content_type: str | None
    user_properties: list[tuple[str, str]]
    payload: bytes


def encode_binary(event: Event) -> MqttMessage:
    """Write attributes as user properties and data as the payload; what only structured mode can carry leaves in it."""
    parts = binary_parts(event)
    if parts is None:
        return encode_structured(event)
    return MqttMessage(parts.content_type, parts.attributes, parts.data or b"")


def encode_structured(event: Event) -> MqttMessage:
    """Write the event as a JSON document, `json_format.encode`."""
    return MqttMessage(json_format.MEDIA_TYPE, [], json_format.encode(event))


def decode(content_type: str | None, user_properties: Iterable[tuple[str, str]], payload: bytes) -> Event:
    """Read the event of an MQTT 5 message in either mode.

    Raise `InvalidEvent` with every fault, or `UnsupportedFormat`. A message of MQTT 3.1.1 is
    `json_format.decode(payload)`. The binding's own example repeats the content type as a user property; where both
    stand there, they have to agree.
    """
    mode = mode_of(content_type)
    if mode is Mode.STRUCTURED:
        return json_format.decode(payload)
    if mode is Mode.BATCHED:
        raise UnsupportedFormat(json_format.BATCH_MEDIA_TYPE, ["one event per message"])
    attributes: dict[str, str] = {}
    found: list[str] = []
    for name, value in user_properties:
        if name in attributes:
            found.append(f"user property {shown(name)} stands more than once")
        attributes[name] = value
    if content_type is not None and attributes.setdefault(_DATA_CONTENT_TYPE, content_type) != content_type:
        found.append(
            f"user property {_DATA_CONTENT_TYPE!r} and the content type differ: "
            f"{shown(attributes[_DATA_CONTENT_TYPE])}, {shown(content_type)}"
        )
    found += faults(attributes)
    if found:
        raise InvalidEvent(found)
    return Event(attributes, payload if payload or _DATA_CONTENT_TYPE in attributes else None)
