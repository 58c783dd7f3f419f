"""CloudEvents SQL 1.0, the dialect `sql` of the Subscriptions API; Knative calls it `cesql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.bounds.sizes import SURELY_READABLE, check_size
from headrace.filters.cesql.expression import Expression as CesqlExpression
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.predicate import CesqlPredicate
from headrace.filters.cesql.source import CesqlSource
from headrace.filters.cesql.text.parser import parse_text
from headrace.filters.cesql.translation import translate
from headrace.filters.dialects.patterns import check_patterns
from headrace.filters.ir.construct import condition

if TYPE_CHECKING:
    from headrace.filters.cesql.syntax import Node
    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression


def parse_sql(body: object, context: ParseContext) -> Expression:
    """Parse an expression, which matches if it is true and its evaluation had no error.

    Return an opaque clause, which has the equivalent tree if CEL can express it.
    """
    text = context.text(body)
    try:
        root = parse_text(text, context.limits)
        require_functions(root, text)
    except FilterError as fault:
        raise _located(fault, context) from None
    lowered = _lowered(root, context)
    return CesqlPredicate(CesqlExpression(root)) if lowered is None else CesqlSource(text, lowered)


def _lowered(root: Node, context: ParseContext) -> Expression | None:
    """Return the equivalent tree; None if CEL can't express it, or only beyond the limits that the CESQL text keeps."""
    piece = translate(root)
    if piece is None:
        return None
    expression, limits = condition(piece.node), context.limits
    try:
        check_patterns(expression, context)
        # An atom has at least one character, and the depth of a piece is at least that of its tree.
        if piece.length > min(limits.atoms, limits.expression) or piece.depth > SURELY_READABLE:
            check_size(expression, limits)
    except FilterError:
        return None
    return expression


def _located(fault: FilterError, context: ParseContext) -> FilterError:
    return FilterError(
        fault.problem,
        path=context.path,
        source=fault.source,
        position=fault.position,
        value=fault.value,
        limit=fault.limit,
    )
