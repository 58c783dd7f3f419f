"""The size of a predicate tree."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.message.tree import And, Not, Or, Property

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters.bounds.limits import Limits
    from headrace.filters.message.tree import Expr, Predicate


def check_size(tree: Expr, limits: Limits, *, path: str, depth: int = 1) -> None:
    """Refuse a tree beyond the limits. `depth` is that of the tree in a larger filter.

    Each operand counts as one comparison for the limit `atoms`.
    """
    count = 0
    for predicate, level in _predicates(tree, depth):
        if level > limits.depth:
            raise too_deep(limits, path)
        count += len(predicate.values)
        if isinstance(predicate.reference, Property):
            _check_length(predicate.reference.name, limits, path)
        for value in predicate.values:
            _check_length(value, limits, path)
    limits.check("atoms", count, "comparisons", path=path)


def _predicates(tree: Expr, depth: int = 1) -> Iterator[tuple[Predicate, int]]:
    """Yield the predicates from left to right, each with its depth."""
    waiting = [(tree, depth)]
    while waiting:
        part, level = waiting.pop()
        match part:
            case And(parts) | Or(parts):
                waiting.extend((each, level + 1) for each in reversed(parts))
            case Not(inner):
                waiting.append((inner, level + 1))
            case _:
                yield part, level


def too_deep(limits: Limits, path: str) -> FilterError:
    """Return the error for a tree that is nested too deep."""
    problem = f"predicates are nested deeper than the limit `depth` of {limits.depth}"
    return FilterError(problem, path=path, limit="depth")


def _check_length(value: object, limits: Limits, path: str) -> None:
    if isinstance(value, str):
        limits.check("length", len(value), "characters", path=path, value=value)
