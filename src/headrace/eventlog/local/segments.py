"""The segment files of a log and their names."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged
from headrace.eventlog.local.frames import SEGMENT_HEADER

if TYPE_CHECKING:
    from pathlib import Path

ONLY_LANE = 0
"""The embedded log is one lane."""

END_MARK = "END"
"""The file that says where the log ends; it is there from the writer's first start on."""

_SUFFIX = ".seg"
_NAME = re.compile(rf"[0-9]{{20}}{re.escape(_SUFFIX)}")


class Segment(NamedTuple):
    """A segment file; the name carries the position of its first event."""

    first: int
    path: Path


def segment_path(folder: Path, first: int) -> Path:
    """Name the segment that begins with this position."""
    return folder / f"{first:020d}{_SUFFIX}"


def list_segments(folder: Path) -> list[Segment]:
    """List the segments in order of position; LogDamaged where a file only looks like one."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    return [Segment(_first_of(folder / name), folder / name) for name in names]


def has_events(folder: Path) -> bool:
    """Tell whether events were ever accepted into the log of this folder, by its files' names and sizes alone."""
    return any(
        path.stem.strip("0") or path.stat().st_size > SEGMENT_HEADER for path in folder.glob(f"*{_SUFFIX}")
    )


def _first_of(path: Path) -> int:
    if not _NAME.fullmatch(path.name):
        raise LogDamaged(path, 0, "a segment's name is the position of its first event, in 20 digits")
    return int(path.stem)
