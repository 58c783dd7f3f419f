"""What stands at a path of one event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of, named

if TYPE_CHECKING:
    from headrace.filters.variables import Variables


def follow(steps: tuple[str, ...], variables: Variables) -> Any:
    """Return what stands at the end of the steps, or a fault that says at which step nothing does."""
    return _last(steps, variables)


def is_present(steps: tuple[str, ...], variables: Variables) -> bool:
    """Say whether the last key is in the map before it; a fault where that is none."""
    holder = _last(steps[:-1], variables)
    if kind_of(holder) is not Kind.MAP:
        raise Fault(f"{'.'.join(steps[:-1])} is {named(holder)}, not a map")
    return steps[-1] in holder


def _last(steps: tuple[str, ...], variables: Variables) -> Any:
    value: Any = variables
    for depth, step in enumerate(steps):
        if depth and kind_of(value) is not Kind.MAP:
            raise Fault(f"{'.'.join(steps[:depth])} is {named(value)}, not a map")
        if step not in value:
            raise Fault(f"{'.'.join(steps[: depth + 1])} is missing")
        value = value[step]
    return value
