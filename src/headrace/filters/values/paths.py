"""What stands at a path of one event."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import INT64, Kind, kind_of, named
from headrace.filters.values.maps import pairs_of

if TYPE_CHECKING:
    from headrace.filters.variables import Variables


def follow(steps: tuple[str, ...], variables: Variables) -> Any:
    """Return what stands at the end of the steps, or a fault that says at which step nothing does."""
    return _in_64_bits(_last(steps, variables))


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


def _in_64_bits(value: Any) -> Any:
    """Read integers beyond 64 bits as CEL does JSON numbers: the nearest double, infinite beyond those."""
    if isinstance(value, int):
        return value if value in INT64 else _as_double(value)
    match kind_of(value):
        case Kind.LIST:
            return [_in_64_bits(element) for element in value]
        case Kind.MAP:
            return {key: _in_64_bits(element) for key, element in pairs_of(value)}
        case _:
            return value


def _as_double(value: int) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf
