"""What the matcher counts about its own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.matching import Matcher


def candidates_per_event(matcher: Matcher) -> float | None:
    """Say how many entries of the index were looked at for each event so far; None before the first."""
    counted = matcher.statistics()
    return counted.visited / counted.events if counted.events else None
