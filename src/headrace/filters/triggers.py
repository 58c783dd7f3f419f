"""The filters of a Knative trigger: the older `filter` and the newer `filters`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.bounds.limits import DEFAULT_LIMITS, Limits
from headrace.filters.compile import compile_filter

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.filters.filter import Filter


def compile_trigger(spec: Mapping[str, Any], *, limits: Limits = DEFAULT_LIMITS) -> Filter:
    """Compile what a trigger's `spec` says: `filters`, unless it is empty, overrides `filter`; neither holds always.

    What is overridden is not looked at, as Knative does it. `filter` takes one dialect, `filters` any number.
    """
    chosen = spec.get("filters") or spec.get("filter")
    return compile_filter(chosen or None, limits=limits)
