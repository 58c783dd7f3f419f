"""Which events someone wants: one expression tree, many languages to write it in."""

from headrace.filters.compile import compile_filter
from headrace.filters.explanation import Explanation
from headrace.filters.filter import Filter
from headrace.filters.limits import Limits
from headrace.filters.triggers import compile_trigger
from headrace.filters.unions import Union, union

__all__ = ["Explanation", "Filter", "Limits", "Union", "compile_filter", "compile_trigger", "union"]
