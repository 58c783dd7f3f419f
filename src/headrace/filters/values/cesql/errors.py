"""CESQL's errors. They are values: a null that knows its reason.

Whatever is computed from one is null as well. So an expression of CESQL is never unknown; where it has an error it is
null, which equals neither true nor false.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, TypeAlias

Value: TypeAlias = str | int | bool
"""CESQL's types String, Integer and Boolean are Python's `str`, `int` and `bool`."""

MISSING_ATTRIBUTE: Final = "missingAttribute"
CAST: Final = "cast"
MATH: Final = "math"
FUNCTION: Final = "functionEvaluation"


@dataclass(frozen=True, slots=True, eq=False)
class CesqlError:
    """Null, and equal to it. `kind` is named as in the specification's test suite; `value` is returned beside it."""

    kind: str
    problem: str
    value: Value

    def __eq__(self, other: object) -> bool:
        return other is None or isinstance(other, CesqlError)

    def __hash__(self) -> int:
        return hash(None)

    def __str__(self) -> str:
        return f"{self.kind} error: {self.problem}"


class Failure(Exception):
    """Ends a function with an error. Without a `value` of its own the function returns the zero of its type."""

    def __init__(self, kind: str, problem: str, value: Value | None = None) -> None:
        super().__init__(problem)
        self.kind = kind
        self.problem = problem
        self.value = value
