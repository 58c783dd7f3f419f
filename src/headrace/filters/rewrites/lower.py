"""`what was written -> the tree that means the same`, for clauses of other languages than CEL."""

from __future__ import annotations

from headrace.filters.ir.expression import And, Expression, Not, Or, with_parts
from headrace.filters.ir.parts import parts_of
from headrace.filters.ir.written import Written


def lower(expression: Expression | Written) -> Expression:
    """Replace the clauses of other languages. Return the same object if there are none."""
    match expression:
        case And() | Or() | Not():
            lowered = with_parts(expression, lower)
            same = all(new is old for new, old in zip(parts_of(lowered), parts_of(expression), strict=True))
            return expression if same else lowered
        case Written():
            return expression.tree
        case _:
            return expression
