"""Damage: positions whose events were durable once and can't be read any more."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged

if TYPE_CHECKING:
    from pathlib import Path


class Damage(NamedTuple):
    """Positions [start, end), and where in which file they should be; brokers have no files here."""

    start: int
    end: int
    path: Path | None
    offset: int
    problem: str

    def reason(self) -> str:
        """Say what is wrong, and where."""
        return (
            self.problem
            if self.path is None
            else f"{self.path} is damaged at byte {self.offset}: {self.problem}"
        )


def refuse(damage: Damage) -> None:
    """Make damage an error."""
    raise LogDamaged(damage.path or "the log", damage.offset, damage.problem)
