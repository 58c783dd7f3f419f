"""CloudEvents SQL 1.0, the dialect `sql` of the Subscriptions API; Knative calls it `cesql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.cesql.expression import parse
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.predicate import CesqlPredicate
from headrace.filters.dialects.cel import read_cel
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.sizes import check_size

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place
    from headrace.filters.ir.expression import Expression


def parse_sql(body: object, place: Place) -> Expression:
    """The expression is true, and no error occurred in what was evaluated of it.

    Where CEL can say that, it is the tree of that CEL, which an index can read; else one opaque clause.
    """
    text = place.text(body)
    try:
        expression = parse(text, place.limits)
        require_functions(expression.root, text)
    except FilterError as fault:
        raise _located(fault, place) from None
    predicate = CesqlPredicate(expression)
    return _lowered(predicate, place) or predicate


def _lowered(predicate: CesqlPredicate, place: Place) -> Expression | None:
    """Return the ordinary tree, or nothing where CEL can't say it within the limits that CESQL itself keeps."""
    cel = predicate.cel
    if cel is None:
        return None
    try:
        expression = flatten(read_cel(cel, place))
        if len(cel) > min(place.limits.atoms, place.limits.expression):  # atoms have a character at least
            check_size(expression, place.limits)
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
