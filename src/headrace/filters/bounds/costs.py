"""The cost of a filter on its worst possible event.

Only clauses that search a text, compare two values of any length or loop can use up a budget; all other clauses take
the same time on every event and count as free.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, assert_never

from headrace.filters.ir.atoms import Contains, EndsWith, Matches, MatchesGlob, StartsWith
from headrace.filters.ir.expression import And, Constant, Expression, Not, Or
from headrace.filters.ir.operands import Path, Text
from headrace.filters.ir.parts import nodes_of
from headrace.filters.ir.terms import Call, ListOf, Local, Macro, MapOf, Operation, Select
from headrace.filters.ir.visitor import Visitor
from headrace.filters.values.budget import LOOPING_STEPS, STEPS, scans_in
from headrace.filters.values.cesql.functions import FUNCTIONS as CESQL_FUNCTIONS
from headrace.filters.values.patterns import is_prefix

if TYPE_CHECKING:
    from headrace.filters.ir.atoms import TextTest

_SEARCHES = frozenset({"contains", "matches", "match", "duration", *CESQL_FUNCTIONS} - {"sqlAttribute"})
_COMPARING = frozenset({"==", "!=", "<", "<=", ">", ">=", "in", "+"})
_LONG_RESULTS = frozenset({"+", "[]", "?:", "string", "bytes", "dyn"})


def worst_cost(expression: Expression) -> int:
    """Return the sum of the budgets of the clauses that can use one up, in steps of about a microsecond."""
    return STEPS * count_scans(expression) + LOOPING_STEPS * _count_looping(expression)


def _count_looping(expression: Expression) -> int:
    match expression:
        case Not(part):
            return _count_looping(part)
        case And(parts) | Or(parts) | Operation("?:", parts):
            return sum(map(_count_looping, parts))
        case _:
            return int(_has_macro(expression))


def count_scans(expression: Expression) -> int:
    """Count the clauses that search or compare values of any length, except those with macros."""
    match expression:
        case Constant():
            return 0
        case Not(part):
            return count_scans(part)
        case And(parts) | Or(parts) | Operation("?:", parts):
            return sum(map(count_scans, parts))
        case _:
            return _count(expression)


def _count(clause: Expression) -> int:
    return 0 if _has_macro(clause) or not any(map(_SCANS.visit, nodes_of(clause))) else scans_in(clause)


def _has_macro(clause: Expression) -> bool:
    return any(isinstance(node, Macro) for node in nodes_of(clause))


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


def _scans_text(test: TextTest) -> bool:
    match test:
        case Contains() | Matches():
            return True
        case MatchesGlob(_, pattern):
            return not is_prefix(pattern)
        case StartsWith() | EndsWith():
            return False
        case _:
            assert_never(test)


def _scans_in_call(term: Call) -> bool:
    return term.function in _SEARCHES or (term.function.startswith("get") and len(term.arguments) > 1)


def _never(_node: object) -> bool:
    return False


_SCANS: Visitor[[], bool] = Visitor(
    constant=_never,
    negation=_never,
    conjunction=_never,
    disjunction=_never,
    literal=_never,
    path=_never,
    text=_never,
    has=_never,
    comparison=_never,
    one_of=_never,
    includes=lambda _: True,
    string_test=_scans_text,
    local=_never,
    type_name=_never,
    select=_never,
    has_key=_never,
    list_of=_never,
    map_of=_never,
    operation=lambda node: node.operator in _COMPARING and all(map(_may_be_long, node.operands)),
    call=_scans_in_call,
    macro=_never,
)
