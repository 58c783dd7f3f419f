"""A parsed expression, ready to be evaluated."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from headrace.filters.bounds.limits import DEFAULT_LIMITS
from headrace.filters.cesql.budget import is_affordable, readings_of
from headrace.filters.cesql.faults import CesqlFault, ErrorKind, EvaluationError
from headrace.filters.cesql.program import Program, program_of
from headrace.filters.cesql.text.parser import parse_text
from headrace.filters.values.budget import LONGEST_SCANNED

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.bounds.limits import Limits
    from headrace.filters.cesql.faults import Value
    from headrace.filters.cesql.program import Attributes
    from headrace.filters.cesql.syntax import Node


_TOO_LONG = f"it reads more than the budget of {LONGEST_SCANNED} characters"


@dataclass(frozen=True, slots=True)
class Result:
    """The result of an evaluation: always a value, and the error that ended it, if any."""

    value: Value
    errors: tuple[EvaluationError, ...] = ()


@dataclass(frozen=True, slots=True)
class Expression:
    """A tree with its program. Equal if the trees are equal. Pickled as the tree; the program is built again."""

    root: Node
    program: Program = field(init=False, compare=False, repr=False)
    readings: Mapping[str, int] = field(init=False, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "program", program_of(self.root))
        object.__setattr__(self, "readings", readings_of(self.root))

    def __reduce__(self) -> tuple[Callable[..., Expression], tuple[object, ...]]:
        return Expression, (self.root,)

    def evaluate(self, attributes: Attributes) -> Result:
        """Return the value, and the error if there was one. Never raises, whatever the attributes are."""
        if not is_affordable(self.readings, attributes):
            error = EvaluationError(ErrorKind.BUDGET, _TOO_LONG, self.root.position)
            return Result(self.program.zero, (error,))
        try:
            return Result(self.program.run(attributes))
        except CesqlFault as fault:
            value = fault.value if fault.call is self.root else self.program.zero
            return Result(value, (fault.error,))

    def passes(self, attributes: Attributes) -> bool:
        """Return whether the result is the Boolean true, without an error."""
        if not is_affordable(self.readings, attributes):
            return False
        try:
            return self.program.run(attributes) is True
        except CesqlFault:
            return False


def parse(text: str, limits: Limits = DEFAULT_LIMITS) -> Expression:
    """Parse an expression, or raise `FilterError` with the position of the fault.

    As specified, a call of an unknown function is an error of evaluation; a filter refuses it.
    """
    return Expression(parse_text(text, limits))
