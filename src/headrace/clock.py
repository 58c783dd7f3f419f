"""The time of day as this process counts it: set once, at the start, and never set again.

A machine's clock may be set back or forward by an hour at any moment. Whatever waits here for a time of day would
wait an hour longer then, or end at once. So due times are written and compared by this clock. Be careful: it is for
what this deployment itself decides to wait for; what others mean by a date, such as the expiry of a token, is
compared with `time.time()`.
"""

from __future__ import annotations

import time


class Clock:
    """Seconds since the epoch: as the machine had them at the start, and evenly from there on. For all threads."""

    __slots__ = ("_start",)

    def __init__(self) -> None:
        self._start = time.time() - time.monotonic()

    def time(self) -> float:
        """Return the seconds since the epoch."""
        return self._start + time.monotonic()

    def shown(self, moment: float) -> float:
        """Return one of its times as the machine's clock has it now, for people to read."""
        return moment + time.time() - self.time()


CLOCK = Clock()
"""The clock of this process."""
