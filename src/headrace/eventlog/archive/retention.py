"""What may leave the archive, and what may leave the log because it is in the archive."""

from __future__ import annotations

import time
from collections import deque
from typing import TYPE_CHECKING

from headrace.events.positions import LogPosition

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.settings import ArchiveSettings
    from headrace.eventlog.archive.storage import Storage


def files_to_expire(manifest: Manifest, settings: ArchiveSettings, now: float) -> list[ArchivedFile]:
    """Return the files whose events are all too old, and the oldest of the others until the rest fits."""
    oldest_first = sorted(manifest.files, key=lambda file: (file.published[1], file.first))
    horizon = (now - settings.retention_seconds) * 1_000_000
    excess = manifest.bytes - settings.retention_bytes
    expired = []
    for file in oldest_first:
        if file.published[1] >= horizon and excess <= 0:
            break
        expired.append(file)
        excess -= file.bytes
    return expired


def end_of_files(files: Iterable[ArchivedFile]) -> LogPosition:
    """Return the log position before which all events of these files are."""
    end_of_all = LogPosition()
    for file in files:
        end_of_all = end_of_all.join(
            LogPosition({partition: end for partition, (_, end) in file.spans.items()})
        )
    return end_of_all


class ArchiveLag:
    """Tells what has been in the archive for a while: only that may leave the log. For one thread.

    A query that read the manifest a moment ago takes from the log what wasn't archived then. So the log keeps an event
    for as long after it was archived as the archive keeps a file that was replaced.
    """

    def __init__(self, storage: Storage, grace_seconds: float) -> None:
        self._storage = storage
        self._grace = grace_seconds
        self._seen: deque[tuple[float, LogPosition]] = deque()
        self._position = LogPosition()

    def position(self, now: float | None = None) -> LogPosition:
        """Return how far the archive had got `grace_seconds` ago; nothing that was before the first call counts."""
        now = time.time() if now is None else now
        self._seen.append((now, LogPosition(self._storage.manifest().archived)))
        while self._seen and self._seen[0][0] <= now - self._grace:
            self._position = self._seen.popleft()[1]
        return self._position
