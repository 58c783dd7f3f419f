"""Damage: positions whose events were durable once and can't be read any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged

if TYPE_CHECKING:
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
