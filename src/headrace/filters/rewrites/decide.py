"""`a -> a == true`, `!a -> a == false`, `c ? a : b -> c && a || !c && b`: conditions hidden in clauses, exposed.

Valid only where unknown counts as false, and only in negation normal form, which it keeps. The last law repeats the
condition, so a conditional whose condition contains another one stays as it is: the tree at most doubles.
"""

from __future__ import annotations

from headrace.filters.ir.atoms import Comparison, Operator
from headrace.filters.ir.expression import And, Expression, Not, Or, with_parts
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path
from headrace.filters.ir.parts import nodes_of
from headrace.filters.ir.terms import Operation
from headrace.filters.rewrites.negate import push_negations


def decide(expression: Expression) -> Expression:
    """Return a tree that is true on the same events."""
    match expression:
        case And() | Or():
            return with_parts(expression, decide)
        case Not(part):
            return _clause(part, holds=False)
        case _:
            return _clause(expression, holds=True)


def _clause(clause: Expression, *, holds: bool) -> Expression:
    match clause:
        case Path():
            return Comparison(clause, Operator.EQUAL, Literal(holds))
        case Operation("?:", (condition, then, otherwise)) if not _has_conditional(condition):
            chosen = (then, otherwise) if holds else (Not(then), Not(otherwise))
            ways = zip((condition, Not(condition)), chosen, strict=True)
            return Or(tuple(decide(push_negations(And(way))) for way in ways))
        case _:
            return clause if holds else Not(clause)


def _has_conditional(expression: Expression) -> bool:
    return any(isinstance(node, Operation) and node.operator == "?:" for node in nodes_of(expression))
