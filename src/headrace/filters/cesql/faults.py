"""Errors of evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias

Value: TypeAlias = str | int | bool
"""CESQL's types String, Integer and Boolean are Python's `str`, `int` and `bool`."""


class ErrorKind(Enum):
    """The error types of evaluation, named as in the specification's test suite, and `budget`."""

    MATH = "math"
    CAST = "cast"
    MISSING_ATTRIBUTE = "missingAttribute"
    MISSING_FUNCTION = "missingFunction"
    FUNCTION_EVALUATION = "functionEvaluation"
    BUDGET = "budget"


@dataclass(frozen=True, slots=True)
class EvaluationError:
    """A reported error, with its position in the expression's text."""

    kind: ErrorKind
    problem: str
    position: int


class CesqlFault(Exception):
    """Ends an evaluation at its first error. Never leaves this package.

    The value of the whole expression is then the zero of its type, with one exception: if the expression is only the
    `call` of a function that also returns a value on error, it is that `value`.
    """

    def __init__(self, error: EvaluationError, call: object = None, value: Value = False) -> None:
        super().__init__(error.problem)
        self.error = error
        self.call = call
        self.value = value
