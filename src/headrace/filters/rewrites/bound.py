"""`A && B -> A && true`: with some clauses replaced by true a filter becomes a necessary condition of itself.

With them replaced by false it becomes a sufficient one. Both hold only in negation normal form, where a tree can only
become truer when a clause does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.ir.expression import And, Constant, Expression, Or
from headrace.filters.rewrites.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable


def necessary(expression: Expression, keep: Callable[[Expression], bool]) -> Expression:
    """Return a tree of the kept clauses only, true wherever the expression is."""
    return fold(_replaced(expression, keep, Constant(value=True)))


def sufficient(expression: Expression, keep: Callable[[Expression], bool]) -> Expression:
    """Return a tree of the kept clauses only, true nowhere but where the expression is."""
    return fold(_replaced(expression, keep, Constant(value=False)))


def _replaced(expression: Expression, keep: Callable[[Expression], bool], constant: Constant) -> Expression:
    match expression:
        case And(parts):
            return And(tuple(_replaced(part, keep, constant) for part in parts))
        case Or(parts):
            return Or(tuple(_replaced(part, keep, constant) for part in parts))
        case Constant():
            return expression
        case _:
            return expression if keep(expression) else constant
