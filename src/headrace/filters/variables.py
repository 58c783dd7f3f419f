"""What a filter can speak about."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.events.event import Event

Variables: TypeAlias = "Mapping[str, object]"


def variables_of(event: Event) -> Variables:
    """Bind the names that paths start with. `ce` holds attributes and extensions alike."""
    return {"ce": event.attributes}
