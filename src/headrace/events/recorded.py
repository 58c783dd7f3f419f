"""An event with what the ingress and the log know about it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.events.event import Event


@dataclass(frozen=True, slots=True)
class Arrival:
    """An event as the ingress took it, before it has a position."""

    event: Event
    namespace: str
    channel: str
    traceparent: str | None = None
    tracestate: str | None = None


@dataclass(frozen=True, slots=True)
class Recorded:
    """An event as the log holds it; `publish_time` counts microseconds since the epoch."""

    position: int
    publish_time: int
    arrival: Arrival

    @property
    def event(self) -> Event:
        """The event itself, without what the log knows about it."""
        return self.arrival.event
