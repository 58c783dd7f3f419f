"""What has been in the archive for a while: only that may leave the log.

A query that read the manifest a moment ago takes from the log what wasn't archived then. So the log keeps an event
for as long after it was archived as the archive keeps a file that was replaced.
"""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from headrace.events.positions import Cut

if TYPE_CHECKING:
    from headrace.eventlog.archive.storage import Storage


class ArchivedForLong:
    """Remembers when it saw how far the archive was. For one thread; after a start it has seen nothing."""

    def __init__(self, storage: Storage, grace_seconds: float) -> None:
        self._storage = storage
        self._grace = grace_seconds
        self._seen: deque[tuple[float, Cut]] = deque()
        self._cut = Cut()

    def cut(self, now: float | None = None) -> Cut:
        """Look at the archive, and return how far it was that long ago."""
        now = time.time() if now is None else now
        self._seen.append((now, Cut(self._storage.manifest().archived)))
        while self._seen and self._seen[0][0] <= now - self._grace:
            self._cut = self._seen.popleft()[1]
        return self._cut
