"""Which events a subscription may see at all, before its filter is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from headrace.events.recorded import Recorded

Channel: TypeAlias = tuple[str, str]
"""Namespace and name. Two namespaces are two tenants: neither sees the other's events."""


@dataclass(frozen=True, slots=True)
class Scope:
    """A channel, and the part of its log between the subscription's creation and its deletion.

    `created` is the first position it sees, `deleted` the first it doesn't. `source` and `types` narrow it
    further; None, or no types, means any.
    """

    namespace: str
    channel: str
    source: str | None = None
    types: tuple[str, ...] | None = None
    created: int = 0
    deleted: int | None = None

    @property
    def address(self) -> Channel:
        """The channel, as a key."""
        return self.namespace, self.channel

    def admits(self, recorded: Recorded) -> bool:
        """Say whether the subscription may see the event."""
        arrival = recorded.arrival
        attributes = arrival.event.attributes
        return (
            (arrival.namespace, arrival.channel) == self.address
            and self.created <= recorded.position
            and (self.deleted is None or recorded.position < self.deleted)
            and (self.source is None or attributes.get("source") == self.source)
            and (not self.types or attributes.get("type") in self.types)
        )
