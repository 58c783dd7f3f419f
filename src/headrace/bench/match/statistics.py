"""What the matcher counts about its own work."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.matching import Matcher


def candidates_per_event(_matcher: Matcher) -> float | None:
    """Say how many subscriptions were looked at for each event so far; None: this matcher doesn't count them."""
    return None
