"""The JSON event format: one event as an object, a batch as an array of them.

Attributes that are `null` count as absent. A member that stands twice counts once, the last one.

`data` is kept as the slice of the document it was, so numbers, key order and blanks inside it survive.
`"data": null` is a payload of its own, the JSON value null, and differs from a missing member; under a media
type other than JSON, where a payload can only be a string, and beside `data_base64`, it counts as absent.

CloudEvents 0.3 has no `data_base64`. There base64 text in `data` and the attribute `datacontentencoding` say
together what bytes are meant; both are kept as they came.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import InvalidEvent
from headrace.events import json_data
from headrace.events.attributes import faults, shown
from headrace.events.event import Event

if TYPE_CHECKING:
    from collections.abc import Sequence

MEDIA_TYPE = "application/cloudevents+json"
BATCH_MEDIA_TYPE = "application/cloudevents-batch+json"

_Members = dict[str, msgspec.Raw]

_read_object = msgspec.json.Decoder(_Members).decode
_read_objects = msgspec.json.Decoder(list[_Members]).decode
_read_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_value = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode

_UNREADABLE = (msgspec.DecodeError, RecursionError)


def decode(body: bytes) -> Event:
    """Read one event. Raise `InvalidEvent` with every fault."""
    _require_utf8(body)
    return _event(_object(body))


def decode_batch(body: bytes) -> list[Event]:
    """Read a batch, which may be empty. One bad event spoils it: `InvalidEvent` lists the faults of all."""
    _require_utf8(body)
    try:
        return [_event(members) for members in _read_objects(body)]
    except (*_UNREADABLE, InvalidEvent):
        return _decode_one_by_one(body)


def encode(event: Event) -> bytes:
    """Write one event as an object, its data as it came.

    Opaque bytes under a JSON media type are spliced into `data` when they are JSON; otherwise, and when no
    media type says what they are, they become `data_base64`. In CloudEvents 0.3, which lacks that member,
    they become the string `data` if they are text of a declared type, since that leaves the attributes alone,
    and only else base64 text with `datacontentencoding`, which a reader undoes.
    """
    members: dict[str, Any] = dict(event.attributes)
    if event.data is not None:
        members.update(json_data.write(event, event.data))
    return _write(members)


def encode_batch(events: Sequence[Event]) -> bytes:
    """Write a batch. Its events must be of one specversion: `ValueError` if not."""
    if len({event.attributes.get("specversion") for event in events}) > 1:
        raise ValueError("a batch can't mix specversions; send one batch for each")
    return b"[" + b",".join(map(encode, events)) + b"]"


def _require_utf8(body: bytes) -> None:
    # msgspec hands out raw slices without looking at their encoding.
    if not body:
        raise InvalidEvent(["the body is empty"])
    if body.isascii():
        return
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise InvalidEvent([f"the body is not UTF-8: {error.reason} at byte {error.start}"]) from None


def _object(document: bytes | msgspec.Raw) -> _Members:
    try:
        return _read_object(document)
    except msgspec.ValidationError:
        raise InvalidEvent(["an event must be a JSON object"]) from None
    except _UNREADABLE as error:
        raise InvalidEvent([f"the body is not readable JSON: {error}"]) from None


def _array(document: bytes) -> list[msgspec.Raw]:
    try:
        return _read_array(document)
    except msgspec.ValidationError:
        raise InvalidEvent(["a batch must be a JSON array"]) from None
    except _UNREADABLE as error:
        raise InvalidEvent([f"the body is not readable JSON: {error}"]) from None


def _decode_one_by_one(body: bytes) -> list[Event]:
    events: list[Event] = []
    found: list[str] = []
    for index, document in enumerate(_array(body)):
        try:
            events.append(_event(_object(document)))
        except InvalidEvent as error:
            found += [f"event {index}: {fault}" for fault in error.faults]
    if found:
        raise InvalidEvent(found)
    return events


def _event(members: _Members) -> Event:
    data = members.pop("data", None)
    data_base64 = members.pop("data_base64", None)
    found: list[str] = []
    attributes: dict[str, Any] = {}
    for name, raw in members.items():
        try:
            value = _read_value(raw)
        except _UNREADABLE as error:
            found.append(f"attribute {shown(name)} is not readable: {error}")
            continue
        if value is not None:
            attributes[name] = value
    found += faults(attributes)
    try:
        event = Event(attributes, *json_data.read(data, data_base64, attributes))
    except InvalidEvent as error:
        raise InvalidEvent(found + list(error.faults)) from None
    if found:
        raise InvalidEvent(found)
    return event
