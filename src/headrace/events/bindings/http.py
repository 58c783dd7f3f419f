"""Events in HTTP messages: binary, structured and batched mode. Pure functions, no sockets.

Where HTTP can't say the difference: an empty body without a Content-Type is an event without data, with one
it is empty data. So an event that declares a media type and has no data gains empty data in binary mode, and
empty data of no declared type is lost; structured mode carries both as they are.
"""

from __future__ import annotations

import enum
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote_to_bytes

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.attributes import faults, shown
from headrace.events.bindings.binary_mode import binary_parts
from headrace.events.event import Event
from headrace.events.media_types import charset, essence

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_ECHOED = 60
_FAMILY = "application/cloudevents"
_SUPPORTED = (json_format.MEDIA_TYPE, json_format.BATCH_MEDIA_TYPE, "any other type, in binary mode")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_ESCAPED = re.compile(r"\\(.)")
_UNSAFE = re.compile(r'[^!-~]|["%]')
_SAFE = "".join(chr(code) for code in range(0x21, 0x7F) if chr(code) not in '"%')


class Mode(enum.Enum):
    """The three ways HTTP carries events."""

    BINARY = "binary"
    STRUCTURED = "structured"
    BATCHED = "batched"


@dataclass(frozen=True, slots=True)
class HttpMessage:
    """The headers and body of a request or response."""

    headers: list[tuple[str, str]]
    body: bytes


def mode_of(content_type: str | None) -> Mode:
    """Tell the mode from the Content-Type. Raise `UnsupportedFormat` for event formats other than JSON."""
    if content_type is None or not (media_type := essence(content_type)).startswith(_FAMILY):
        return Mode.BINARY
    if charset(content_type) not in (None, "utf-8", "utf8"):
        raise UnsupportedFormat(content_type[:_ECHOED], _SUPPORTED)
    if media_type == json_format.BATCH_MEDIA_TYPE:
        return Mode.BATCHED
    if media_type == json_format.MEDIA_TYPE:
        return Mode.STRUCTURED
    raise UnsupportedFormat(media_type[:_ECHOED], _SUPPORTED)


def decode(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> list[Event]:
    """Read the events of a message in any mode.

    Raise `InvalidEvent` with its faults, or `UnsupportedFormat`. In structured and batched mode the `ce-`
    headers are copies of what the body says and are not looked at.
    """
    return [event for events in read(headers, body) for event in events]


def read(headers: Iterable[tuple[bytes, bytes]], body: bytes) -> Iterable[list[Event]]:
    """Yield the events of a message some at a time; nothing may be made of them before the last."""
    attributes: list[tuple[bytes, bytes]] = []
    content_types: list[str] = []
    for name, value in headers:
        lowered = name.lower()
        if lowered[:3] == b"ce-":
            attributes.append((lowered, value))
        elif lowered == b"content-type":
            content_types.append(value.decode("latin-1").strip(" \t"))
    if len(content_types) > 1:
        raise InvalidEvent([f"header 'content-type' stands {len(content_types)} times"])
    content_type = content_types[0] if content_types else None
    mode = mode_of(content_type)
    if mode is Mode.BATCHED:
        return json_format.read_batch(body)
    if mode is Mode.STRUCTURED:
        return ([json_format.decode(body)],)
    return ([_decode_binary(attributes, content_type, body)],)


def encode_binary(event: Event) -> HttpMessage:
    """Write attributes as headers and data as the body; what only structured mode can carry leaves in it."""
    parts = binary_parts(event)
    if parts is None:
        return encode_structured(event)
    headers = [("ce-" + name, header_value(value)) for name, value in parts.attributes]
    if parts.content_type is not None:
        headers.append(("content-type", parts.content_type))
    return HttpMessage(headers, parts.data or b"")


def encode_structured(event: Event) -> HttpMessage:
    """Write the event as a JSON document, `json_format.encode`."""
    return HttpMessage([("content-type", json_format.MEDIA_TYPE)], json_format.encode(event))


def encode_batch(events: Sequence[Event]) -> HttpMessage:
    """Write the events as a JSON array; they must be of one specversion."""
    return HttpMessage([("content-type", json_format.BATCH_MEDIA_TYPE)], json_format.encode_batch(events))


def _decode_binary(headers: list[tuple[bytes, bytes]], content_type: str | None, body: bytes) -> Event:
    attributes: dict[str, str] = {}
    found: list[str] = []
    for header, value in headers:
        name = header[3:].decode("latin-1")
        if name in attributes:
            found.append(f"header {shown('ce-' + name)} stands more than once")
        try:
            attributes[name] = attribute_value(value)
        except UnicodeDecodeError:
            attributes[name] = attribute_value(value, errors="replace")
            found.append(f"header {shown('ce-' + name)} is not UTF-8: {shown(value)}")
    if "datacontenttype" in attributes:
        found.append("header 'ce-datacontenttype' is not allowed: the media type belongs in Content-Type")
    if content_type is not None:
        attributes["datacontenttype"] = content_type
    found += faults(attributes)
    if found:
        raise InvalidEvent(found)
    return Event(attributes, body if body or content_type is not None else None)


def attribute_value(value: bytes, errors: str = "strict") -> str:
    """Undo quoting, then percent-encoding, once. Bare UTF-8, which HTTP discourages, is understood."""
    text = value.strip(b" \t").decode(errors=errors)
    if text.startswith('"') and (quoted := _QUOTED.fullmatch(text)):
        text = _ESCAPED.sub(r"\1", quoted[1])
    return unquote_to_bytes(text).decode(errors=errors) if "%" in text else text


def header_value(text: str) -> str:
    """Percent-encode what a header can't hold as it is."""
    return quote(text, safe=_SAFE) if _UNSAFE.search(text) else text
