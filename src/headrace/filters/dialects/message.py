"""The dialect `message`: predicate trees over properties and times, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.ir.atoms import Matches
from headrace.filters.ir.expression import nodes_of
from headrace.filters.message.json_form import from_json
from headrace.filters.message.lowering import lower
from headrace.filters.values.patterns import InvalidPattern, compile_pattern

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression


def parse_message(body: object, place: Place) -> Expression:
    """Read the predicate tree and return what it means."""
    expression = lower(from_json(body, limits=place.limits, path=place.path, depth=place.depth))
    for node in nodes_of(expression):
        if isinstance(node, Matches):
            _check_pattern(node.pattern, place)
    return expression


def _check_pattern(pattern: str, place: Place) -> None:
    """Refuse texts so long that RE2 would need too large a program to look for them."""
    try:
        size = compile_pattern(pattern).programsize
    except InvalidPattern as error:
        raise place.fault(f"RE2 takes no such pattern: {error}", pattern) from None
    if size > place.limits.pattern:
        problem = f"a pattern of size {size} is above the limit `pattern` of {place.limits.pattern}"
        raise FilterError(problem, path=place.path, value=pattern, limit="pattern")
