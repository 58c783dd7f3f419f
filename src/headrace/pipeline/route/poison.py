"""Finding an event that kills the worker that matches it.

A worker that raises says at which event; one that dies says nothing, and its batch fails again at every start. So after
such a death batches get smaller, until the one that fails holds a single event.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_DEATH = "Python worker exited unexpectedly"
_STEP = 64


class BatchLimit:
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


class IsolatedEvent:
    """Which event is matched alone, in a file: who plans batches is another process than who sees them fail."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def forget(self) -> None:
        """Begin anew."""
        self.path.unlink(missing_ok=True)

    def note(self, ranges: Sequence[tuple[int, int]]) -> None:
        """Say which ranges of positions are matched now."""
        self.path.write_bytes(msgspec.json.encode(ranges))

    def position(self) -> int | None:
        """Return where the event stands; None where no event was alone."""
        try:
            ranges = msgspec.json.decode(self.path.read_bytes(), type=list[tuple[int, int]])
        except (OSError, msgspec.DecodeError):
            return None
        (start, end), *more = ranges or [(0, 0)]
        return start if end - start == 1 and not more else None
