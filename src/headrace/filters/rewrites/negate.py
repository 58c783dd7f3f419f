"""`!(A && B) -> !A || !B`, `!(A || B) -> !A && !B`, `!!A -> A`, `!(a == b) -> a != b`: negations of clauses only.

Kleene's logic obeys De Morgan, so the three-valued meaning stays. Afterwards an unknown clause may be read as false:
there is no negation above it to turn that into a match. `!(a < b)` isn't `a >= b`: for NaN both `<` and `>=` are false.
"""

from __future__ import annotations

from headrace.filters.ir.atoms import Comparison, Operator
from headrace.filters.ir.expression import And, Constant, Expression, Not, Or, with_parts
from headrace.filters.ir.terms import Macro, Operation

_OPPOSITES = {Operator.EQUAL: Operator.NOT_EQUAL, Operator.NOT_EQUAL: Operator.EQUAL}
_OPPOSITE_SYMBOLS = {"==": "!=", "!=": "=="}
_OPPOSITE_MACROS = {"all": "exists", "exists": "all"}


def push_negations(expression: Expression) -> Expression:
    """Return the negation normal form."""
    match expression:
        case Not(part):
            return _negated(part)
        case _:
            return with_parts(expression, push_negations)


def _negated(expression: Expression) -> Expression:  # noqa: PLR0911 -- one per node
    match expression:
        case Constant(value):
            return Constant(not value)
        case Not(part):
            return push_negations(part)
        case And(parts):
            return Or(tuple(map(_negated, parts)))
        case Or(parts):
            return And(tuple(map(_negated, parts)))
        case Comparison(operand, operator, literal) if operator in _OPPOSITES:
            return Comparison(operand, _OPPOSITES[operator], literal)
        case Operation(symbol, operands) if symbol in _OPPOSITE_SYMBOLS:
            return Operation(_OPPOSITE_SYMBOLS[symbol], operands)
        case Macro(name, over, variable, (body,)) if name in _OPPOSITE_MACROS:
            return Macro(_OPPOSITE_MACROS[name], over, variable, (_negated(body),))
        case _:
            return Not(expression)
