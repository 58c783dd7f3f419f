"""How fast a queue may go, and how fast it goes."""

from __future__ import annotations

import asyncio
import time

_BRISK = 500.0  # events a second
_MEASURE_SECONDS, _GUESS_SECONDS = 0.1, 1.0


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


class Throughput:
    """What a queue has delivered of late."""

    __slots__ = ("_measured", "_measured_at", "_rate", "delivered")

    def __init__(self) -> None:
        self.delivered = 0
        self._measured, self._measured_at, self._rate = 0, 0.0, 0.0

    @property
    def is_brisk(self) -> bool:
        """Whether events have been acknowledged quickly, as far as is known: look often, or it has to guess."""
        now = time.monotonic()
        seconds, count = now - self._measured_at, self.delivered - self._measured
        if seconds > _GUESS_SECONDS:
            self._rate = _BRISK if count else 0.0
        elif seconds > _MEASURE_SECONDS:
            self._rate = count / seconds
        if seconds > _MEASURE_SECONDS:
            self._measured_at, self._measured = now, self.delivered
        return self._rate >= _BRISK
