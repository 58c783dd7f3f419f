"""Which files of the archive are too old, or too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.positions import Cut

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.archive.settings import ArchiveSettings


def files_to_expire(manifest: Manifest, settings: ArchiveSettings, now: float) -> list[ArchivedFile]:
    """Return the files whose events are all older than allowed, and the oldest of the rest until the rest fits."""
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


def cut_behind(files: Iterable[ArchivedFile]) -> Cut:
    """Return the cut before which all events of these files lie."""
    cut = Cut()
    for file in files:
        cut = cut.join(Cut({lane: end for lane, (_, end) in file.spans.items()}))
    return cut
