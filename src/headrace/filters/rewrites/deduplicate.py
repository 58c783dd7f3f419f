"""`A && A -> A` and `A || A -> A`: the first of equal parts stays."""

from __future__ import annotations

from headrace.filters.ir.expression import And, Expression, Or, all_of, any_of, with_parts


def deduplicate(expression: Expression) -> Expression:
    """Return the tree without repeated parts in any connective."""
    match with_parts(expression, deduplicate):
        case And(parts):
            return all_of(tuple(dict.fromkeys(parts)))
        case Or(parts):
            return any_of(tuple(dict.fromkeys(parts)))
        case other:
            return other
