"""The constants in a filter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from headrace.filters.ir.node import Node


class Uint(int):
    """An unsigned 64-bit integer, which in CEL is another type than a signed one: `1u`."""

    __slots__ = ()


Scalar: TypeAlias = str | int | float | bool | bytes | None


@dataclass(frozen=True, slots=True, eq=False)
class Literal(Node):
    """A scalar with its type: in Python `1 == True == 1.0`, in a filter these are three different constants."""

    value: Scalar

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Literal):
            return NotImplemented
        mine, theirs = self.value, other.value
        # Unlike `==`, the text of a double tells 0.0 from -0.0, which differ as divisors.
        return type(mine) is type(theirs) and (
            repr(mine) == repr(theirs) if isinstance(mine, float) else mine == theirs
        )

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))
