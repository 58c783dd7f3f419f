"""Retention of the embedded log: segments whose events are settled and too old, or too many, are removed."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.eventlog.local.files import sync_folder
from headrace.eventlog.local.segments import ONLY_PARTITION, list_segments

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.eventlog.settings import LogSettings
    from headrace.events.positions import LogPosition


def expire_segments(
    folder: Path, settled: LogPosition, settings: LogSettings, now: float | None = None
) -> int:
    """Remove old segments whose events all lie before `settled`; return how many bytes that freed.

    An event that is still to be routed, delivered or retried is never removed, however full the disk is.
    The last segment stays: it says where the log goes on.
    """
    now = time.time() if now is None else now
    segments = list_segments(folder)
    sizes = [segment.path.stat() for segment in segments]
    excess = sum(stat.st_size for stat in sizes) - settings.retention_bytes
    freed = 0
    for segment, stat, following in zip(segments, sizes, segments[1:], strict=False):
        expired = now - stat.st_mtime > settings.retention_seconds
        if following.first > settled[ONLY_PARTITION] or not (expired or freed < excess):
            break
        segment.path.unlink()
        freed += stat.st_size
    if freed:
        sync_folder(folder)
    return freed
