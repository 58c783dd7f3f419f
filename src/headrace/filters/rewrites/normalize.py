"""The form that indexes and columns need: two-valued, negations of clauses only, no conditions hidden in clauses."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.filters.rewrites.decide import decide
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.rewrites.unglob import unglob

if TYPE_CHECKING:
    from headrace.filters.ir.expression import Expression


def normal_form(expression: Expression) -> Expression:
    """Return a tree that is true on the same events and in which an unknown clause may be read as false."""
    return flatten(fold(unglob(decide(push_negations(fold(expression))))))
