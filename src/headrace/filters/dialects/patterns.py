"""Check the patterns that a translation made."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.ir.atoms import Matches
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.parts import nodes_of
from headrace.filters.ir.terms import Call
from headrace.filters.values.patterns import InvalidPattern, compile_pattern

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression


def check_patterns(expression: Expression, context: ParseContext) -> None:
    """Refuse texts whose search needs a larger program of RE2 than the limit allows."""
    for node in nodes_of(expression):
        match node:
            case Matches(_, pattern) | Call("matches", (_, Literal(str(pattern)))):
                _check_pattern(pattern, context)


def _check_pattern(pattern: str, context: ParseContext) -> None:
    try:
        size = compile_pattern(pattern).programsize
    except InvalidPattern as error:
        raise context.fault(f"RE2 can't compile the pattern: {error}", pattern) from None
    if size > context.limits.pattern:
        problem = f"a pattern of size {size} exceeds the limit `pattern` of {context.limits.pattern}"
        raise FilterError(problem, path=context.path, value=pattern, limit="pattern")
