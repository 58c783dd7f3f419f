"""Events as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.events.event import Event


def described(event: Event) -> str:
    """Return an event's attributes in a line, and its data below."""
    head = "  ".join(f"{name}={value}" for name, value in event.attributes.items() if name != "specversion")
    return head if event.data is None else f"{head}\n    {event.data.decode(errors='replace')}"
