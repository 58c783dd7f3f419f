"""CloudEvents SQL 1.0, the dialect `sql` of the Subscriptions API; Knative calls it `cesql`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.cesql.expression import parse
from headrace.filters.cesql.functions import require_functions
from headrace.filters.cesql.predicate import CesqlPredicate

if TYPE_CHECKING:
    from headrace.filters.dialects.dialect import Place


def parse_sql(body: object, place: Place) -> CesqlPredicate:
    """The expression is true, and no error occurred in what was evaluated of it."""
    text = place.text(body)
    try:
        expression = parse(text, place.limits)
        require_functions(expression.root, text)
    except FilterError as fault:
        raise _located(fault, place) from None
    return CesqlPredicate(expression)


def _located(fault: FilterError, place: Place) -> FilterError:
    return FilterError(
        fault.problem,
        path=place.path,
        source=fault.source,
        position=fault.position,
        value=fault.value,
        limit=fault.limit,
    )
