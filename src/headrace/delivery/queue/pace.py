"""Spreading work evenly over time."""

from __future__ import annotations

import asyncio
import time


class Pace:
    """Lets at most so many a second pass, evenly; None lets all pass. What was missed isn't made up for."""

    __slots__ = ("_interval", "_next")

    def __init__(self, rate: float | None) -> None:
        self._interval = 0.0 if rate is None else 1 / rate
        self._next = time.monotonic()

    async def turn(self) -> None:
        """Wait for the next one's turn."""
        if wait := self.wait():
            self.take()  # before the wait, or all who wait would go at once
            await asyncio.sleep(wait)
        else:
            self.take()

    def wait(self) -> float:
        """Return the seconds until the next one's turn."""
        return max(0.0, self._next - time.monotonic()) if self._interval else 0.0

    def take(self, count: int = 1) -> None:
        """Take so many turns."""
        if self._interval:
            self._next = max(self._next, time.monotonic()) + self._interval * count
