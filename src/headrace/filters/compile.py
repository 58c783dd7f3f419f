"""Compile what a user wrote to a filter: the only way to make one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.bounds.sizes import check_size
from headrace.filters.dialects.dialect import ParseContext
from headrace.filters.dialects.table import parse_filter
from headrace.filters.filter import Filter
from headrace.filters.ir.expression import all_of
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.lower import lower
from headrace.filters.values.documents import is_array

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from headrace.filters.ir.expression import Expression


def compile_filter(
    spec: Mapping[str, Any] | Sequence[Mapping[str, Any]] | None, *, limits: Limits = DEFAULT_LIMITS
) -> Filter:
    """Compile one filter object, or a list of them that must all match; without any, every event matches.

    Raises `FilterError` with the path to the fault for anything that isn't a filter. Nothing is skipped.
    """
    notes: list[str] = []
    parsed = _parse(spec, limits, notes)
    lowered = lower(parsed)
    expression = flatten(lowered)
    check_size(expression, limits)
    written = None if lowered is parsed else flatten(parsed)
    return Filter(expression, tuple(dict.fromkeys(notes)), written)


def compile_trigger(spec: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Compile the filters of a Knative trigger's `spec`: `filters`, unless it is empty, overrides the older `filter`.

    As in Knative, the overridden one isn't even read. `filter` takes one dialect, `filters` any number.
    """
    chosen = spec.get("filters") or spec.get("filter")
    return compile_filter(chosen or None, limits=limits)


def _parse(spec: object, limits: Limits, notes: list[str]) -> Expression:
    if spec is None:
        return all_of(())
    if is_array(spec):
        root = ParseContext("filters", limits, parse_filter, notes)
        return all_of(tuple(parse_filter(each, root.element(index)) for index, each in enumerate(spec)))
    return parse_filter(spec, ParseContext("filter", limits, parse_filter, notes))
