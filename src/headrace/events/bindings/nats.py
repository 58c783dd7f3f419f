"""Events in NATS messages: binary and structured mode. Pure functions, no client.

Attributes are `ce-` headers, `datacontenttype` among them, with HTTP's percent-encoding. A message can't say the
difference between no data and empty data; structured mode carries both as they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.attributes import faults, shown
from headrace.events.bindings.binary_mode import binary_parts
from headrace.events.bindings.http import Mode, attribute_value, header_value, mode_of
from headrace.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Mapping

_PREFIX = "ce-"
_CONTENT_TYPE = "content-type"
_DATA_CONTENT_TYPE = "ce-datacontenttype"


@dataclass(frozen=True, slots=True)
class NatsMessage:
    """A message's headers and its payload."""

    headers: dict[str, str]
    payload: bytes


def encode_binary(event: Event) -> NatsMessage:
    """Write attributes as headers and data as the payload; what only structured mode can carry leaves in it."""
    parts = binary_parts(event)
    if parts is None:
        return encode_structured(event)
    headers = {_PREFIX + name: header_value(value) for name, value in parts.attributes}
    if parts.content_type is not None:
        headers[_DATA_CONTENT_TYPE] = header_value(parts.content_type)
    return NatsMessage(headers, parts.data or b"")


def encode_structured(event: Event) -> NatsMessage:
    """Write the event as a JSON document, `json_format.encode`."""
    return NatsMessage({_CONTENT_TYPE: json_format.MEDIA_TYPE}, json_format.encode(event))


def decode(headers: Mapping[str, str], payload: bytes) -> Event:
    """Read the event of a message in either mode. Raise `InvalidEvent` with every fault, or `UnsupportedFormat`."""
    lowered = {name.lower(): value for name, value in headers.items()}
    mode = mode_of(lowered.get(_CONTENT_TYPE))
    if mode is Mode.STRUCTURED:
        return json_format.decode(payload)
    if mode is Mode.BATCHED:
        raise UnsupportedFormat(json_format.BATCH_MEDIA_TYPE, ["one event per message"])
    attributes: dict[str, str] = {}
    found: list[str] = []
    for header, value in lowered.items():
        if not header.startswith(_PREFIX):
            continue
        try:
            attributes[header.removeprefix(_PREFIX)] = attribute_value(value.encode())
        except UnicodeDecodeError:
            found.append(f"header {shown(header)} is not UTF-8: {shown(value)}")
    found += faults(attributes)
    if found:
        raise InvalidEvent(found)
    return Event(attributes, payload if payload or "datacontenttype" in attributes else None)
