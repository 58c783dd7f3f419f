"""What can go wrong while an expression is evaluated."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = str | int | bool
"""CESQL's types String, Integer and Boolean are Python's `str`, `int` and `bool`."""


class ErrorKind(Enum):
    """The error types of the specification that an evaluation can meet, as its test suite names them; and `budget`."""

    MATH = "math"
    CAST = "cast"
    MISSING_ATTRIBUTE = "missingAttribute"
    MISSING_FUNCTION = "missingFunction"
    FUNCTION_EVALUATION = "functionEvaluation"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """An error as it is reported: what, in words, and where in the expression's text."""

    kind: ErrorKind
    problem: str
    position: int


class Fault(Exception):
    """Ends an evaluation at its first error. Never leaves this package.

    What the whole expression is then worth is the zero value of its type, with one exception: some functions say
    what they return besides an error, and `value` is that, to be used where the expression is that `call` alone.
    """

    def __init__(self, error: EvaluationError, call: object = None, value: Value = False) -> None:
        super().__init__(error.problem)
        self.error = error
        self.call = call
        self.value = value
