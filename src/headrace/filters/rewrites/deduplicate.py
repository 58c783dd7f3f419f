"""`A && A -> A` and `A || A -> A`: of equal parts the first stays."""

from __future__ import annotations

from headrace.filters.ir.expression import And, Expression, Not, Or, all_of, any_of


def deduplicate(expression: Expression) -> Expression:
    """Return the tree with no part twice in one connective."""
    match expression:
        case Not(part):
            return Not(deduplicate(part))
        case And(parts):
            return all_of(tuple(dict.fromkeys(map(deduplicate, parts))))
        case Or(parts):
            return any_of(tuple(dict.fromkeys(map(deduplicate, parts))))
        case _:
            return expression
