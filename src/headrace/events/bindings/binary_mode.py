"""An event taken apart for binary mode: what all bindings that have headers write, each in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.events import json_data
from headrace.events.canonical import canonical_string
from headrace.events.event import DataKind
from headrace.events.media_types import essence

if TYPE_CHECKING:
    from headrace.events.event import Event

_FAMILY = "application/cloudevents"


@dataclass(frozen=True, slots=True)
class BinaryParts:
    """Attributes as text, without `datacontenttype`; the media type; the data, of which there may be none."""

    attributes: list[tuple[str, str]]
    content_type: str | None
    data: bytes | None


def binary_parts(event: Event) -> BinaryParts | None:
    """Return the parts, or None for an event that only structured mode can carry.

    That is one whose data is itself a CloudEvents document: by its media type it would be taken for that document.
    JSON data of a structured event without a media type leaves as application/json, the type it implied. Base64 text of
    a 0.3 event leaves as the bytes it stands for, without `datacontentencoding`: the attribute says how a document
    spells the data, and here nothing is spelled.
    """
    content_type = event.datacontenttype
    if content_type is None and event.data_kind is DataKind.JSON and event.data is not None:
        content_type = "application/json"
    if content_type is not None and essence(content_type).startswith(_FAMILY):
        return None
    plain = json_data.bytes_meant(event)
    omitted = ("datacontenttype",) if plain is None else ("datacontenttype", "datacontentencoding")
    attributes = [
        (name, canonical_string(value)) for name, value in event.attributes.items() if name not in omitted
    ]
    return BinaryParts(attributes, content_type, event.data if plain is None else plain)
