"""`A && B -> A && true`: with some clauses replaced by true a filter becomes a necessary condition of itself.

With them replaced by false it becomes a sufficient one. Both hold only in negation normal form, where a tree never
becomes false when a clause becomes true.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.ir.expression import And, Constant, Expression, Or, with_parts
from headrace.filters.rewrites.fold import fold

if TYPE_CHECKING:
    from collections.abc import Callable


def necessary(expression: Expression, keep: Callable[[Expression], bool]) -> Expression:
    """Return a tree of the kept clauses only that is true wherever the expression is."""
    return fold(_replaced(expression, keep, Constant(value=True)))


def sufficient(expression: Expression, keep: Callable[[Expression], bool]) -> Expression:
    """Return a tree of the kept clauses only that is true only where the expression is."""
    return fold(_replaced(expression, keep, Constant(value=False)))


def _replaced(expression: Expression, keep: Callable[[Expression], bool], constant: Constant) -> Expression:
    match expression:
        case And() | Or():
            return with_parts(expression, lambda part: _replaced(part, keep, constant))
        case Constant():
            return expression
        case _:
            return expression if keep(expression) else constant
