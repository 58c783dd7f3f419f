"""The one door from what a user wrote to a filter that can be evaluated."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.bounds.sizes import check_size
from headrace.filters.dialects.dialect import Place, is_array
from headrace.filters.dialects.table import parse_filter
from headrace.filters.filter import Filter
from headrace.filters.ir.expression import all_of
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.lower import lower

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.filters.ir.expression import Expression


def compile_filter(
    spec: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, *, limits: Limits = DEFAULT_LIMITS
) -> Filter:
    """Compile one filter object, or a list of them that must all hold; no list or an empty one holds always.

    Raises `FilterError` for whatever isn't a filter, with the path to the fault. Nothing is skipped.
    """
    notes: list[str] = []
    parsed = _parse(spec, limits, notes)
    lowered = lower(parsed)
    expression = flatten(lowered)
    check_size(expression, limits)
    written = None if lowered is parsed else flatten(parsed)
    return Filter(expression, tuple(dict.fromkeys(notes)), written)


def _parse(spec: object, limits: Limits, notes: list[str]) -> Expression:
    if spec is None:
        return all_of(())
    if is_array(spec):
        root = Place("filters", limits, parse_filter, notes)
        return all_of(tuple(parse_filter(each, root.element(index)) for index, each in enumerate(spec)))
    return parse_filter(spec, Place("filter", limits, parse_filter, notes))
