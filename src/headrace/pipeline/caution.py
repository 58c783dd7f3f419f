"""Finding an event that kills the worker that matches it.

A worker that raises says at which event; one that dies says nothing, and its batch fails again at every start. So after
such a death batches get smaller, until the one that fails holds a single event.
"""

from __future__ import annotations

_DEATH = "Python worker exited unexpectedly"
_STEP = 64


class Caution:
    """How many events a batch may have. Belongs to the thread that starts queries; `passed` may come from another."""

    def __init__(self, most: int) -> None:
        self._most = most
        self.limit = most
        self._passed = 0

    def failed(self, error: object) -> bool:
        """Take note of a failed query; True where a worker died of a batch of one event."""
        if _DEATH not in str(error):
            return False
        is_found = self.limit == 1
        self.limit = self._most if is_found else max(1, self.limit // _STEP)
        self._passed = 0
        return is_found

    def passed(self) -> None:
        """Take note of a batch that went well."""
        self._passed += 1

    def relax(self) -> bool:
        """Return to whole batches, if so many went well that no event can be at fault; True where that is new."""
        if self.limit == self._most or self._passed <= 2 * _STEP:
            return False
        self.limit, self._passed = self._most, 0
        return True
