"""How many clauses of a filter may use up a budget: those that search a text or compare two values of any length."""

from __future__ import annotations

from headrace.filters.ir.atoms import Contains, Includes, Matches, MatchesGlob
from headrace.filters.ir.expression import And, Constant, Expression, Not, Or, nodes_of
from headrace.filters.ir.opaque import Opaque
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.terms import Call, ListOf, Local, Macro, MapOf, Operation, Select
from headrace.filters.values.budget import scans_in
from headrace.filters.values.patterns import is_prefix

_SEARCHES = frozenset({"contains", "matches", "match", "duration"})
_COMPARING = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "+"})
_LONG_RESULTS = frozenset({"+", "[]", "?:", "string", "bytes", "dyn"})


def count_scans(expression: Expression) -> int:
    """Count the clauses, without those that have macros: these are few."""
    match expression:
        case Constant():
            return 0
        case Not(part):
            return count_scans(part)
        case And(parts) | Or(parts) | Operation("?:", parts):
            return sum(map(count_scans, parts))
        case Opaque():
            return 1
        case _:
            return _count(expression)


def _count(clause: Expression) -> int:
    nodes = list(nodes_of(clause))
    if any(isinstance(node, Macro) for node in nodes) or not any(map(_scans, nodes)):
        return 0
    return scans_in(clause)


def _scans(node: Expression) -> bool:
    match node:
        case Contains() | Matches() | Includes():
            return True
        case MatchesGlob(_, pattern):
            return not is_prefix(pattern)
        case Call(function, arguments):
            return function in _SEARCHES or (function.startswith("get") and len(arguments) > 1)
        case Operation(operator, operands):
            return operator in _COMPARING and all(map(_may_be_long, operands))
        case _:
            return False


def _may_be_long(operand: Expression) -> bool:
    match operand:
        case Path() | Text() | Local() | Select():
            return True
        case ListOf(elements):
            return any(map(_may_be_long, elements))
        case MapOf(_, values):
            return any(map(_may_be_long, values))
        case Operation(name, _) | Call(name, _):
            return name in _LONG_RESULTS
        case _:
            return False
