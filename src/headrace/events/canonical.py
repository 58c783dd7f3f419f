"""Attribute values as strings, the way every binary binding writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

if TYPE_CHECKING:
    from headrace.events.event import AttributeValue

_write = msgspec.json.Encoder().encode


def canonical_string(value: AttributeValue) -> str:
    """Return the canonical string of CloudEvents: strings as they are, the rest as JSON writes it."""
    return value if isinstance(value, str) else _write(value).decode()


def type_name(value: AttributeValue) -> str:
    """Name the type that its canonical string doesn't show: `boolean`, `integer` or `json`."""
    if isinstance(value, bool):
        return "boolean"
    return "integer" if isinstance(value, int) else "json"


def typed(text: str, name: str | None) -> Any:
    """Read a canonical string back; without a type's name it is a string."""
    return text if name is None else msgspec.json.decode(text)
