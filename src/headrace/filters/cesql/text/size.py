"""How large a tree may be, so that whoever walks it may recurse."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import FilterError
from headrace.filters.cesql.syntax import Attribute, Call, Exists, children

if TYPE_CHECKING:
    from headrace.filters.bounds.limits import Limits
    from headrace.filters.cesql.syntax import Node


def check_size(root: Node, text: str, limits: Limits) -> None:
    """Refuse a tree higher than `limits.depth`, or with more attributes and calls than `limits.atoms`.

    A chain such as `1 + 1 + …` makes a high tree of a text that is not nested at all.
    """
    atoms = 0
    waiting = [(root, 1)]
    while waiting:
        node, depth = waiting.pop()
        if depth > limits.depth:
            raise too_deep(text, node.position, limits)
        atoms += isinstance(node, Attribute | Exists | Call)
        waiting += [(child, depth + 1) for child in children(node)]
    if atoms > limits.atoms:
        problem = f"{atoms} attributes and function calls are more than the limit `atoms` of {limits.atoms}"
        raise FilterError(problem, source=text, position=root.position, limit="atoms")


def too_deep(text: str, position: int, limits: Limits) -> FilterError:
    """Return the error for what is nested too deep at the position."""
    problem = f"the expression is nested deeper than the limit `depth` of {limits.depth}"
    return FilterError(problem, source=text, position=position, limit="depth")
