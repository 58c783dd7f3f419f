"""CloudEvents SQL 1.0, the dialect `sql` of the Subscriptions API; Knative calls it `cesql`."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from headrace.errors import FilterError
from headrace.filters.bounds.sizes import SURELY_READABLE, check_size
from headrace.filters.cesql.source import CesqlSource
from headrace.filters.cesql.text.parser import parse
from headrace.filters.cesql.translation import by_functions, translate
from headrace.filters.dialects.patterns import check_patterns

if TYPE_CHECKING:
    from headrace.filters.cesql.syntax import Node
    from headrace.filters.dialects.dialect import ParseContext
    from headrace.filters.ir.expression import Expression

_PER_SCAN = 20
"""A clause that scans has more characters than that."""


def parse_sql(body: object, context: ParseContext) -> Expression:
    """Parse an expression, which matches if it is true and its evaluation had no error."""
    text = context.text(body)
    try:
        root = parse(text, context.limits)
    except FilterError as fault:
        raise _located(fault, context) from None
    tree = _in_clauses(root, context)
    return cast("Expression", CesqlSource(text, by_functions(root) if tree is None else tree))


def _in_clauses(root: Node, context: ParseContext) -> Expression | None:
    """Return the equivalent tree of clauses; None if that exceeds limits that the CESQL text keeps."""
    piece, limits = translate(root), context.limits
    if piece is None:
        return None
    try:
        check_patterns(piece.condition, context)
        # An atom has at least one character, and the depth of a piece is at least that of its tree.
        small = min(limits.atoms, limits.expression, _PER_SCAN * limits.scans)
        if piece.length > small or piece.depth > SURELY_READABLE:
            check_size(piece.condition, limits)
    except FilterError:
        return None
    return piece.condition


def _located(fault: FilterError, context: ParseContext) -> FilterError:
    return FilterError(
        fault.problem,
        path=context.path,
        source=fault.source,
        position=fault.position,
        value=fault.value,
        limit=fault.limit,
    )
