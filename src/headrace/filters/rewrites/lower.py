"""`opaque -> its equivalent tree`, for the opaque clauses that have one."""

from __future__ import annotations

from headrace.filters.ir.expression import And, Expression, Not, Or, parts_of, with_parts
from headrace.filters.ir.opaque import Opaque


def lower(expression: Expression) -> Expression:
    """Replace the opaque clauses that CEL can express. Return the same object if there are none."""
    match expression:
        case And() | Or() | Not():
            lowered = with_parts(expression, lower)
            same = all(new is old for new, old in zip(parts_of(lowered), parts_of(expression), strict=True))
            return expression if same else lowered
        case Opaque():
            return expression if expression.lowered is None else expression.lowered
        case _:
            return expression
