"""The dialect `message`: predicate trees over properties and times, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.dialects.patterns import check_patterns
from headrace.filters.message.json_form import from_json
from headrace.filters.message.lowering import lower

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression


def parse_message(body: object, place: Place) -> Expression:
    """Read the predicate tree and return what it means."""
    expression = lower(from_json(body, limits=place.limits, path=place.path, depth=place.depth))
    check_patterns(expression, place)
    return expression
