"""Attribute values as strings, the way every binary binding writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from headrace.events.event import AttributeValue

_write = msgspec.json.Encoder().encode


def canonical_string(value: AttributeValue) -> str:
    """Return the canonical string of CloudEvents: strings as they are, the rest as JSON writes it."""
    return value if isinstance(value, str) else _write(value).decode()
