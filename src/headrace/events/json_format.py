"""The JSON event format: one event as an object, a batch as an array of them.

Attributes that are `null` count as absent. A member that stands twice counts once, the last one.

`data` is kept as the slice of the document it was, so numbers, key order and blanks inside it survive.
`"data": null` is a payload of its own, the JSON value null, and differs from a missing member; under a media
type other than JSON, where a payload can only be a string, and beside `data_base64`, it counts as absent.

CloudEvents 0.3 has no `data_base64`. There base64 text in `data` and the attribute `datacontentencoding` say
together what bytes are meant; both are kept as they came.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.errors import MOST_FAULTS, InvalidEvent
from headrace.events import json_data
from headrace.events.attributes import faults, shown
from headrace.events.event import Event
from headrace.events.json_array import split_array

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from headrace.events.json_array import ArrayChunk

MEDIA_TYPE = "application/cloudevents+json"
BATCH_MEDIA_TYPE = "application/cloudevents-batch+json"

_Members = dict[str, msgspec.Raw]

_read_object = msgspec.json.Decoder(_Members).decode
_read_objects = msgspec.json.Decoder(list[_Members]).decode
_read_array = msgspec.json.Decoder(list[msgspec.Raw]).decode
_read_value = msgspec.json.Decoder().decode
_write = msgspec.json.Encoder().encode

_UNREADABLE = (msgspec.DecodeError, RecursionError)
_BYTE = re.compile(r"\(byte (\d+)\)")
_MOST_ATTRIBUTES = 1000
_OPENING = b"[{"
_MOST_NESTED_BYTES = 1 << 16
"""What the attributes of an event may have in arrays and objects, as CloudEvents 0.3 allows them."""
_LONG = 1 << 20
_MOST_FAULTY = 1000
"""Faulty events of a batch that are looked at. Whoever sends more is told that they were not."""


def decode(body: bytes) -> Event:
    """Read one event. Raise `InvalidEvent` with every fault."""
    _require_utf8(body)
    return _event(_object(body))


def decode_batch(body: bytes) -> list[Event]:
    """Read a batch, which may be empty. One bad event spoils it: `InvalidEvent` lists the first faults of all."""
    return [event for events in read_batch(body) for event in events]


def read_batch(body: bytes) -> Iterator[list[Event]]:
    """Yield the events of a batch some at a time, so that others get their turn between.

    Nothing may be made of them before the last: what comes then may spoil all of them.
    """
    _require_utf8(body)
    if len(body) > _LONG:
        yield []  # that look alone takes a while
    batch = _Batch()
    for part in split_array(body):
        yield batch.read(part)
    batch.check()


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


class _Batch:
    """What was found so far. With the first fault events are looked at for theirs alone."""

    def __init__(self) -> None:
        self._seen = self._faulty = self._found = self._unexamined = 0
        self._faults: list[str] = []

    def read(self, part: ArrayChunk) -> list[Event]:
        """Return the events of a part; none if there was a fault in this one or in one before."""
        if not part.text:
            return []
        if self._found:
            return self._examine(part)
        try:
            events = [_event(members) for members in _read_objects(part.text)]
        except (msgspec.ValidationError, RecursionError, InvalidEvent):
            return self._examine(part)
        except msgspec.DecodeError as error:
            raise _unreadable(error, part) from None
        self._count(len(events), part)
        return events

    def check(self) -> None:
        """Refuse the batch if there was a fault."""
        if self._found:
            raise InvalidEvent(self._faults, self._found - len(self._faults), self._unexamined)

    def _count(self, elements: int, part: ArrayChunk) -> None:
        """Parts of one array have elements, or a comma stands where it must not."""
        if not elements and part.start:
            raise InvalidEvent([f"the body is not readable JSON: a comma too many (byte {part.start})"])
        self._seen += elements

    def _examine(self, part: ArrayChunk) -> list[Event]:
        """Collect the faults of a part's events."""
        documents = _array(part)
        first = self._seen
        self._count(len(documents), part)
        events: list[Event] = []
        for index, document in enumerate(documents, start=first):
            if self._faulty >= _MOST_FAULTY:
                self._unexamined += first + len(documents) - index
                break
            try:
                events.append(_event(_object(document)))
            except InvalidEvent as error:
                self._note(index, error.faults)
        return [] if self._found else events

    def _note(self, index: int, found: Sequence[str]) -> None:
        self._faulty += 1
        self._found += len(found)
        room = MOST_FAULTS - len(self._faults)
        self._faults += [f"event {index}: {fault}" for fault in found[:room]]


def _array(part: ArrayChunk) -> list[msgspec.Raw]:
    try:
        return _read_array(part.text)
    except msgspec.ValidationError:
        raise InvalidEvent(["a batch must be a JSON array"]) from None
    except _UNREADABLE as error:
        raise _unreadable(error, part) from None


def _unreadable(error: Exception, part: ArrayChunk) -> InvalidEvent:
    """Say what is wrong, and where in the whole that lies, not where in the part."""
    placed = _BYTE.sub(lambda found: f"(byte {int(found[1]) + max(0, part.start - 1)})", str(error))
    return InvalidEvent([f"the body is not readable JSON: {placed}"])


def _require_bounds(attributes: _Members) -> None:
    """Refuse what would take long to read and to check, before either: the event loop waits for it."""
    if len(attributes) > _MOST_ATTRIBUTES:
        raise InvalidEvent([f"{len(attributes)} attributes are more than the limit of {_MOST_ATTRIBUTES}"])
    views = [memoryview(raw) for raw in attributes.values()]
    if sum(map(len, views)) <= _MOST_NESTED_BYTES:
        return
    nested = sum(len(view) for view in views if view[0] in _OPENING)
    if nested > _MOST_NESTED_BYTES:
        problem = f"attributes that are arrays or objects have {nested} bytes, more than {_MOST_NESTED_BYTES}"
        raise InvalidEvent([problem])


def _event(members: _Members) -> Event:
    data = members.pop("data", None)
    data_base64 = members.pop("data_base64", None)
    found: list[str] = []
    attributes: dict[str, Any] = {}
    _require_bounds(members)
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
