"""Events in Kafka records: binary and structured mode. Pure functions, no client.

`encode` and `decode` are exact inverses, for our own topics. Headers can't tell a number from a text, and a value not
how the data came: what an event has of that stands in a header of its own, which other programs may leave unread.
`encode_binary` and `encode_structured` are for the topics of others: what the binding says, and nothing more.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.attributes import faults, shown
from headrace.events.bindings.binary_mode import binary_parts
from headrace.events.bindings.http import Mode, mode_of
from headrace.events.canonical import canonical_string, type_name, typed
from headrace.events.event import DataKind, Event
from headrace.events.media_types import essence

if TYPE_CHECKING:
    from collections.abc import Iterable

    Headers = Iterable[tuple[str, bytes | None]]

PREFIX = "ce_"
CONTENT_TYPE = "content-type"
_FAMILY = "application/cloudevents"
FORM = "headrace-form"


@dataclass(frozen=True, slots=True)
class KafkaMessage:
    """A record's headers and its value; None is Kafka's null."""

    headers: list[tuple[str, bytes]]
    value: bytes | None


class Form(msgspec.Struct, omit_defaults=True):
    """What the headers of the binding don't say: the data's kind, and extensions that are no strings."""

    kind: DataKind = DataKind.BYTES
    types: dict[str, str] = {}


def encode(event: Event) -> KafkaMessage:
    """Write an event in binary mode, so that `decode` gives it back as it is."""
    headers = [
        (PREFIX + name, canonical_string(value).encode())
        for name, value in event.attributes.items()
        if name != "datacontenttype"
    ]
    content_type = event.datacontenttype
    if content_type is not None:
        headers.append((CONTENT_TYPE, content_type.encode()))
    types = {name: type_name(value) for name, value in event.attributes.items() if not isinstance(value, str)}
    if types or event.data_kind or (content_type is not None and not is_plain(content_type)):
        headers.append((FORM, msgspec.json.encode(Form(event.data_kind, types))))
    return KafkaMessage(headers, event.data)


def encode_binary(event: Event) -> KafkaMessage:
    """Write an event for others; what only structured mode can carry leaves in it."""
    parts = binary_parts(event)
    if parts is None:
        return encode_structured(event)
    headers = [(PREFIX + name, value.encode()) for name, value in parts.attributes]
    if parts.content_type is not None:
        headers.append((CONTENT_TYPE, parts.content_type.encode()))
    return KafkaMessage(headers, parts.data)


def encode_structured(event: Event) -> KafkaMessage:
    """Write the event as a JSON document, `json_format.encode`."""
    return KafkaMessage([(CONTENT_TYPE, json_format.MEDIA_TYPE.encode())], json_format.encode(event))


def key_of(event: Event, attribute: str) -> bytes | None:
    """Return a record's key: the value of this attribute, or none where the event doesn't have it."""
    value = event.attributes.get(attribute)
    return None if value is None else canonical_string(value).encode()


def decode(headers: Headers, value: bytes | None) -> Event:
    """Read the event of a record in either mode. Raise `InvalidEvent` with every fault, or `UnsupportedFormat`."""
    attributes: list[tuple[str, bytes]] = []
    content_types: list[str] = []
    form = None
    for name, content in headers:
        lowered = name.lower()
        if lowered.startswith(PREFIX):
            attributes.append((lowered.removeprefix(PREFIX), content or b""))
        elif lowered == CONTENT_TYPE:
            content_types.append((content or b"").decode(errors="replace"))
        elif lowered == FORM:
            form = read_form(content or b"")
    if len(content_types) > 1:
        raise InvalidEvent([f"header 'content-type' stands {len(content_types)} times"])
    content_type = content_types[0] if content_types else None
    mode = Mode.BINARY if form is not None else mode_of(content_type)
    if mode is Mode.STRUCTURED:
        return json_format.decode(value or b"")
    if mode is Mode.BATCHED:
        raise UnsupportedFormat(json_format.BATCH_MEDIA_TYPE, ["one event per record"])
    return _decode_binary(attributes, content_type, value, form or Form())


def is_plain(content_type: str) -> bool:
    """Tell whether nobody takes the media type of the data for the mode of the record."""
    return not essence(content_type).startswith(_FAMILY)


def read_form(content: bytes) -> Form:
    """Read the header of ours. Raise `InvalidEvent` where nobody of us wrote it."""
    try:
        return msgspec.json.decode(content, type=Form)
    except msgspec.DecodeError as error:
        raise InvalidEvent([f"header {FORM!r} can't be read: {error}"]) from None


def _decode_binary(
    headers: list[tuple[str, bytes]], content_type: str | None, value: bytes | None, form: Form
) -> Event:
    attributes: dict[str, Any] = {}
    found: list[str] = []
    for name, content in headers:
        if name in attributes:
            found.append(f"header {shown(PREFIX + name)} stands more than once")
        try:
            attributes[name] = typed(content.decode(), form.types.get(name))
        except (UnicodeDecodeError, msgspec.DecodeError):
            attributes[name] = content.decode(errors="replace")
            found.append(f"header {shown(PREFIX + name)} can't be read: {shown(content)}")
    if "datacontenttype" in attributes:
        found.append("header 'ce_datacontenttype' is not allowed: the media type belongs in content-type")
    if content_type is not None:
        attributes["datacontenttype"] = content_type
    found += faults(attributes)
    if found:
        raise InvalidEvent(found)
    return Event(attributes, value, form.kind)
