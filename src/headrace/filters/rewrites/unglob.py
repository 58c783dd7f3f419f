"""`x.match("a*") -> x.startsWith("a")`: a shell pattern that is just a prefix becomes one."""

from __future__ import annotations

from headrace.filters.ir.atoms import MatchesGlob, StartsWith
from headrace.filters.ir.expression import Expression, with_parts
from headrace.filters.values.patterns import is_prefix


def unglob(expression: Expression) -> Expression:
    """Return the tree without patterns that are prefixes, except inside terms, where no index looks."""
    match expression:
        case MatchesGlob(operand, pattern) if is_prefix(pattern):
            return StartsWith(operand, pattern[:-1])
        case _:
            return with_parts(expression, unglob)
