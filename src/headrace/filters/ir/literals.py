"""The constants that a filter compares with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.filters.ir.node import Node

Scalar: TypeAlias = str | int | float | bool | None


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A scalar with its type: in Python `1 == True == 1.0`, in a filter these are three constants."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))
