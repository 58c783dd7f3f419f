"""`x.match("a*") -> x.startsWith("a")`: a shell pattern that only asks for a beginning says so."""

from __future__ import annotations

from headrace.filters.ir.atoms import MatchesGlob, StartsWith
from headrace.filters.ir.expression import And, Expression, Not, Or
from headrace.filters.values.patterns import is_prefix


def unglob(expression: Expression) -> Expression:
    """Return the tree without patterns that are prefixes. Those inside a term stay: no index looks there."""
    match expression:
        case Not(part):
            return Not(unglob(part))
        case And(parts):
            return And(tuple(map(unglob, parts)))
        case Or(parts):
            return Or(tuple(map(unglob, parts)))
        case MatchesGlob(operand, pattern) if is_prefix(pattern):
            return StartsWith(operand, pattern[:-1])
        case _:
            return expression
