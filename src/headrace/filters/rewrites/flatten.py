"""`A && (B && C) -> A && B && C`, the same for `||`, and `!!A -> A`: the form that CEL's own parser gives."""

from __future__ import annotations

from headrace.filters.ir.expression import And, Expression, Not, Or, all_of, any_of


def flatten(expression: Expression) -> Expression:
    """Return the tree without connectives directly inside the same connective, or with a single part."""
    match expression:
        case Not(Not(part)):
            return flatten(part)
        case Not(part):
            inner = flatten(part)
            return inner.part if isinstance(inner, Not) else Not(inner)
        case And(parts):
            return all_of(_merged(And, parts))
        case Or(parts):
            return any_of(_merged(Or, parts))
        case _:
            return expression


def _merged(connective: type[And | Or], parts: tuple[Expression, ...]) -> tuple[Expression, ...]:
    merged: list[Expression] = []
    for part in map(flatten, parts):
        merged.extend(part.parts if isinstance(part, connective) else (part,))
    return tuple(merged)
