"""Events as a terminal shows them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.telemetry.texts import indented, one_line

if TYPE_CHECKING:
    from headrace.events.event import Event


def described(event: Event) -> str:
    """Return an event's attributes in a line, and its data below, indented."""
    shown = [f"{name}={value}" for name, value in event.attributes.items() if name != "specversion"]
    head = one_line("  ".join(shown))
    return head if event.data is None else f"{head}\n{indented(event.data.decode(errors='replace'))}"
