"""`A && true -> A`, `A && false -> false`, their duals, `!true -> false`, and constant clauses to their values.

A clause that is unknown on every event stays: the tree has no constant for unknown.
"""

from __future__ import annotations

from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import ATOMS
from headrace.filters.ir.expression import And, Constant, Expression, Not, Or, all_of, any_of
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.parts import nodes_of
from headrace.filters.truth import UNKNOWN

_OF_AN_EVENT = (Path, Text, *ATOMS)


def fold(expression: Expression) -> Expression:
    """Return the tree without constants inside connectives."""
    match expression:
        case Constant():
            return expression
        case Not(part):
            inner = fold(part)
            return Constant(not inner.value) if isinstance(inner, Constant) else Not(inner)
        case And(parts):
            return _folded(parts, deciding=False)
        case Or(parts):
            return _folded(parts, deciding=True)
        case _:
            return _settled(expression)


def _folded(parts: tuple[Expression, ...], *, deciding: bool) -> Expression:
    folded = tuple(map(fold, parts))
    if Constant(deciding) in folded:
        return Constant(deciding)
    left = tuple(part for part in folded if not isinstance(part, Constant))
    return any_of(left) if deciding else all_of(left)


def _settled(clause: Expression) -> Expression:
    if any(isinstance(node, _OF_AN_EVENT) for node in nodes_of(clause)):
        return clause
    truth = evaluate(clause, {})
    return clause if truth is UNKNOWN else Constant(truth)
