"""The segment files of a log and their names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged
from headrace.eventlog.local.frames import SEGMENT_HEADER

if TYPE_CHECKING:
    from pathlib import Path

ONLY_PARTITION = 0
"""The embedded log has one partition."""

END_WATERMARK = "END"
"""The watermark of the log's end, which exists from the writer's first start on."""

_SUFFIX = ".seg"
_NAME = re.compile(rf"[0-9]{{20}}{re.escape(_SUFFIX)}")


class Segment(NamedTuple):
    """A segment file; the name carries the position of its first event."""

    first: int
    path: Path


def segment_path(folder: Path, first: int) -> Path:
    """Return the path of the segment that begins with this position."""
    return folder / f"{first:020d}{_SUFFIX}"


def list_segments(folder: Path) -> list[Segment]:
    """List the segments in order of position. Raise LogDamaged where a file has the suffix and not the name of one."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    return [Segment(_first_of(folder / name), folder / name) for name in names]


def has_events(folder: Path) -> bool:
    """Tell whether events were ever stored in this folder, by the names and sizes of its files alone."""
    return any(
        path.stem.strip("0") or path.stat().st_size > SEGMENT_HEADER for path in folder.glob(f"*{_SUFFIX}")
    )


def _first_of(path: Path) -> int:
    if not _NAME.fullmatch(path.name):
        raise LogDamaged(path, 0, "a segment's name is the position of its first event, in 20 digits")
    return int(path.stem)
