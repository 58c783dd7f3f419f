"""The operands of atoms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.filters.ir.node import Node


@dataclass(frozen=True, slots=True)
class Path(Node):
    """A variable and the keys below it: `ce.subject` is `Path(("ce", "subject"))`."""

    steps: tuple[str, ...]

    @property
    def parent(self) -> Path:
        """The map that holds the last key. A bare variable isn't in any map."""
        if len(self.steps) < 2:
            raise ValueError(f"the variable {self.steps[0]} isn't in any map")
        return Path(self.steps[:-1])


@dataclass(frozen=True, slots=True)
class Text(Node):
    """The canonical string of a string, boolean or number: `true`, `42`. Unknown for anything else."""

    path: Path


Operand: TypeAlias = Path | Text

CE = Path(("ce",))
"""The map of attributes and extensions: the only variable that is a map on every event."""


def attribute(name: str) -> Path:
    """Return the path of an attribute or extension."""
    return Path(("ce", name))
