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
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression


def parse_sql(body: object, place: Place) -> Expression:
    """The expression is true, and no error occurred in what was evaluated of it.

    One opaque clause, which knows the tree that says the same in CEL where there is one.
    """
    text = place.text(body)
    try:
        root = parse_text(text, place.limits)
        require_functions(root, text)
    except FilterError as fault:
        raise _located(fault, place) from None
    lowered = _lowered(root, place)
    return CesqlPredicate(CesqlExpression(root)) if lowered is None else CesqlSource(text, lowered)


def _lowered(root: Node, place: Place) -> Expression | None:
    """Return the ordinary tree, or nothing where CEL can't say it within the limits that CESQL itself keeps."""
    piece = translate(root)
    if piece is None:
        return None
    expression, limits = condition(piece.node), place.limits
    try:
        check_patterns(expression, place)
        # Atoms have a character at least, and pieces count at least the depth that the tree has.
        if piece.length > min(limits.atoms, limits.expression) or piece.depth > SURELY_READABLE:
            check_size(expression, limits)
    except FilterError:
        return None
    return expression


def _located(fault: FilterError, place: Place) -> FilterError:
    return FilterError(
        fault.problem,
        path=place.path,
        source=fault.source,
        position=fault.position,
        value=fault.value,
        limit=fault.limit,
    )
