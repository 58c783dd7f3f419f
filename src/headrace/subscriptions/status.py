"""What a subscription's owner should know about how it fares."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True, slots=True)
class FilterStatus:
    """How often the filter cost more than it may on an event; why, on which event and when that was last so.

    `event` are the attributes by which the event at the position is known, empty where that couldn't be read.
    """

    overruns: int
    reason: str
    position: int
    time: str
    event: Mapping[str, str] = field(default_factory=dict)

    def document(self) -> dict[str, Any]:
        """Return it as the API shows it."""
        shown = {
            "overruns": self.overruns,
            "reason": self.reason,
            "position": self.position,
            "time": self.time,
        }
        return shown | ({"event": dict(self.event)} if self.event else {})

    def followed_by(self, later: FilterStatus) -> FilterStatus:
        """Count both; the later one says what was last."""
        return replace(later, overruns=self.overruns + later.overruns)


def timestamp(seconds: float | None = None) -> str:
    """Return a time, or now, as RFC 3339 in UTC, always of the same length, so that texts sort as times do."""
    time = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
