"""`opaque -> the tree that says the same`, for the opaque clauses that have one."""

from __future__ import annotations

from operator import is_

from headrace.filters.ir.expression import And, Expression, Not, Or
from headrace.filters.ir.opaque import Opaque


def lower(expression: Expression) -> Expression:
    """Return a tree whose opaque clauses are only those that CEL can't say; the very same where it has no others."""
    match expression:
        case And(parts) | Or(parts):
            lowered = tuple(map(lower, parts))
            same = all(map(is_, lowered, parts))
            return expression if same else type(expression)(lowered)
        case Not(part):
            inner = lower(part)
            return expression if inner is part else Not(inner)
        case Opaque():
            tree = expression.lowered
            return expression if tree is None else tree
        case _:
            return expression
