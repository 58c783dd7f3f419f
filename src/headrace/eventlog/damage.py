"""Damage: positions whose events were durable once and can no longer be read."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogDamaged

if TYPE_CHECKING:
    from pathlib import Path


class Damage(NamedTuple):
    """Positions [start, end) and the file and offset where they should be; there is no file where brokers have them."""

    start: int
    end: int
    path: Path | None
    offset: int
    problem: str

    def reason(self) -> str:
        """Say what is wrong, and where."""
        if self.path is None:
            return self.problem
        return f"{self.path} is damaged at byte {self.offset}: {self.problem}"


def raise_damage(damage: Damage) -> None:
    """Raise LogDamaged."""
    raise LogDamaged(damage.path or "the log", damage.offset, damage.problem)
