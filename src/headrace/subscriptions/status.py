"""What a subscription's owner should know about how it fares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime


@dataclass(frozen=True, slots=True)
class FilterStatus:
    """How often the filter cost more than it may on an event; why, at which position and when that was last so."""

    overruns: int
    reason: str
    position: int
    time: str

    def followed_by(self, later: FilterStatus) -> FilterStatus:
        """Count both; the later one says what was last."""
        return replace(later, overruns=self.overruns + later.overruns)


def timestamp(seconds: float | None = None) -> str:
    """Return a time, or now, as RFC 3339 in UTC, always of the same length, so that texts sort as times do."""
    time = datetime.now(UTC) if seconds is None else datetime.fromtimestamp(seconds, UTC)
    return time.isoformat(timespec="milliseconds").replace("+00:00", "Z")
