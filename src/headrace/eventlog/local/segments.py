"""The segment files of a log and their names."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from pathlib import Path

_SUFFIX = ".seg"


class Segment(NamedTuple):
    """A segment file; the name carries the position of its first event."""

    first: int
    path: Path


def segment_path(folder: Path, first: int) -> Path:
    """Name the segment that begins with this position."""
    return folder / f"{first:020d}{_SUFFIX}"


def list_segments(folder: Path) -> list[Segment]:
    """List the segments in order of position."""
    names = sorted(entry.name for entry in os.scandir(folder) if entry.name.endswith(_SUFFIX))
    return [Segment(int(name.removesuffix(_SUFFIX)), folder / name) for name in names]
