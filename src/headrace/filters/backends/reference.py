"""The meaning of the tree in plain Python: slow, obvious, and what every other back end is compared with."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any, assert_never

from headrace.filters.ir.atoms import Comparison, EndsWith, Has, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.truth import UNKNOWN, Truth, conjunction, disjunction, negation
from headrace.filters.values import Fault, follow, kind_of, value_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.atoms import Atom
    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Path
    from headrace.filters.variables import Variables

_ORDERINGS: dict[Operator, Callable[[Any, Any], bool]] = {
    Operator.LESS: operator.lt,
    Operator.LESS_OR_EQUAL: operator.le,
    Operator.GREATER: operator.gt,
    Operator.GREATER_OR_EQUAL: operator.ge,
}
_ORDERED_KINDS = frozenset({"string", "boolean", "number"})


def evaluate(expression: Expression, variables: Variables) -> Truth:
    """Say whether the expression holds. Where CEL would report an error, the answer is unknown."""
    match expression:
        case Constant(value):
            return value
        case Not(part):
            return negation(evaluate(part, variables))
        case And(parts):
            return conjunction(evaluate(part, variables) for part in parts)
        case Or(parts):
            return disjunction(evaluate(part, variables) for part in parts)
        case _:
            return _evaluate_atom(expression, variables)


def _evaluate_atom(atom: Atom, variables: Variables) -> Truth:
    match atom:
        case Has(path):
            return _is_present(path, variables)
        case Comparison(operand, how, literal):
            return _compare(value_of(operand, variables), how, literal.value)
        case StartsWith(operand, prefix):
            value = value_of(operand, variables)
            return value.startswith(prefix) if isinstance(value, str) else UNKNOWN
        case EndsWith(operand, suffix):
            value = value_of(operand, variables)
            return value.endswith(suffix) if isinstance(value, str) else UNKNOWN
        case _:
            assert_never(atom)


def _is_present(path: Path, variables: Variables) -> Truth:
    holder = follow(path.steps[:-1], variables)
    return path.steps[-1] in holder if kind_of(holder) == "map" else UNKNOWN


def _compare(left: object, how: Operator, right: object) -> Truth:
    if isinstance(left, Fault):
        return UNKNOWN
    same_kind = kind_of(left) == kind_of(right)
    if how is Operator.EQUAL:
        return same_kind and left == right
    if how is Operator.NOT_EQUAL:
        return not (same_kind and left == right)
    if same_kind and kind_of(left) in _ORDERED_KINDS:
        return _ORDERINGS[how](left, right)
    return UNKNOWN
