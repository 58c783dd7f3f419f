"""Filters: one expression tree, and many languages to write it in."""

from typing import TYPE_CHECKING

from headrace.exports import exported

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.compile import compile_filter, compile_trigger
    from headrace.filters.explanation import Explanation
    from headrace.filters.filter import Filter
    from headrace.filters.upstream.bloom import ExportedBloom
    from headrace.filters.upstream.unions import Union, union

__all__ = [
    "Explanation",
    "ExportedBloom",
    "Filter",
    "Limits",
    "Union",
    "compile_filter",
    "compile_trigger",
    "union",
]
__getattr__ = exported(
    __name__,
    {
        "Explanation": "headrace.filters.explanation",
        "ExportedBloom": "headrace.filters.upstream.bloom",
        "Filter": "headrace.filters.filter",
        "Limits": "headrace.filters.bounds.limits",
        "Union": "headrace.filters.upstream.unions",
        "compile_filter": "headrace.filters.compile",
        "compile_trigger": "headrace.filters.compile",
        "union": "headrace.filters.upstream.unions",
    },
)
