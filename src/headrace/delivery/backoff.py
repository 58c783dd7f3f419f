"""When a failed delivery is tried again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.delivery.settings import DeliverySettings


def wait_before(attempt: int, settings: DeliverySettings, chance: float | None = None) -> float:
    """Return the seconds before repetition `attempt` (from 1): doubling, bounded, spread by the jitter."""
    wait = min(settings.backoff_seconds * 2.0 ** min(attempt - 1, 60), settings.backoff_max_seconds)
    spread = random.random() if chance is None else chance
    return wait * (1 + settings.jitter * (2 * spread - 1))
