"""The dialect `message`: predicate trees over properties and times, as JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.dialects.patterns import check_patterns
from headrace.filters.message.json_form import from_json
from headrace.filters.message.translation import translate

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression


def parse_message(body: object, context: ParseContext) -> Expression:
    """Parse a predicate tree."""
    expression = translate(from_json(body, limits=context.limits, path=context.path, depth=context.depth))
    check_patterns(expression, context)
    return expression
