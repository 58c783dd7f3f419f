"""Damage: positions whose events were durable once and can't be read any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged
from headrace.eventlog.local.frames import FRAME_HEADER, FRAME_MAGIC, Frame, body_is_whole, unpack_frame

if TYPE_CHECKING:
    from mmap import mmap
    from pathlib import Path


class Damage(NamedTuple):
    """Positions [start, end), and where in which file they should be."""

    start: int
    end: int
    path: Path
    offset: int
    problem: str


def refuse(damage: Damage) -> None:
    """Make damage an error."""
    raise LogDamaged(damage.path, damage.offset, damage.problem)


def find_frame(mapped: mmap | memoryview, offset: int, salt: int, position: int) -> tuple[int, Frame] | None:
    """Return the next whole frame at or behind an offset that holds no event before `position`.

    An event may carry a copy of a frame, of an earlier one: none that follows existed when it was sent.
    """
    content = bytes(mapped[offset:])
    at = content.find(FRAME_MAGIC)
    while at != -1:
        frame = unpack_frame(content[at : at + FRAME_HEADER], salt)
        body = at + FRAME_HEADER
        if frame and frame.first >= position and body_is_whole(content[body : body + frame.length], frame):
            return offset + at, frame
        at = content.find(FRAME_MAGIC, at + 1)
    return None
