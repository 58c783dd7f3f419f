"""Spreading work evenly over time."""

from __future__ import annotations

import asyncio
import time


class Pace:
    """Lets at most so many a second pass, evenly; None lets all pass. What was missed isn't made up for."""

    def __init__(self, rate: float | None) -> None:
        self._interval = 0.0 if rate is None else 1 / rate
        self._next = time.monotonic()

    async def turn(self) -> None:
        """Wait for the next one's turn."""
        if not self._interval:
            return
        now = time.monotonic()
        if self._next > now:
            await asyncio.sleep(self._next - now)
        self._next = max(self._next, now) + self._interval
