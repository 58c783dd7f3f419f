"""Patterns that no user wrote, a translation did: they may still be too large."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.ir.atoms import Matches
from headrace.filters.ir.expression import nodes_of
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.terms import Call
from headrace.filters.values.patterns import InvalidPattern, compile_pattern

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression


def check_patterns(expression: Expression, place: Place) -> None:
    """Refuse texts so long that RE2 would need too large a program to look for them."""
    for node in nodes_of(expression):
        match node:
            case Matches(_, pattern) | Call("matches", (_, Literal(str(pattern)))):
                _check_pattern(pattern, place)


def _check_pattern(pattern: str, place: Place) -> None:
    try:
        size = compile_pattern(pattern).programsize
    except InvalidPattern as error:
        raise place.fault(f"RE2 takes no such pattern: {error}", pattern) from None
    if size > place.limits.pattern:
        problem = f"a pattern of size {size} is above the limit `pattern` of {place.limits.pattern}"
        raise FilterError(problem, path=place.path, value=pattern, limit="pattern")
