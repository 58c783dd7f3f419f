"""Look up paths in the variables of one event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of, named

if TYPE_CHECKING:
    from headrace.filters.variables import Variables


def follow(steps: tuple[str, ...], variables: Variables) -> Any:
    """Return the value at the path, or raise the `Fault` that says which step is missing."""
    value: Any = variables
    for depth, step in enumerate(steps):
        if depth and kind_of(value) is not Kind.MAP:
            raise _not_a_map(steps[:depth], value)
        if step not in value:
            raise Fault(f"{'.'.join(steps[: depth + 1])} is missing")
        value = value[step]
    return value


def is_present(steps: tuple[str, ...], variables: Variables) -> bool:
    """Return whether the last key is in the map before it, or raise the `Fault` that this isn't a map."""
    holder = follow(steps[:-1], variables)
    if kind_of(holder) is not Kind.MAP:
        raise _not_a_map(steps[:-1], holder)
    return steps[-1] in holder


def _not_a_map(steps: tuple[str, ...], value: Any) -> Fault:
    return Fault(f"{'.'.join(steps)} is {named(value)}, not a map")
