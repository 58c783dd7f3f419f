"""Which values are equal, and in which order they stand."""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import NUMBERS, Duration, Kind, Timestamp, kind_of, named
from headrace.filters.values.maps import find, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_ORDERED = frozenset({Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION})


def equal(left: Any, right: Any) -> bool:
    """Say whether two values are equal. Those of different types never are, except numbers."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(operator.eq(*_alike(left, right, kind, other)))
    if kind is not other:
        return False
    if kind is Kind.LIST:
        return len(left) == len(right) and all(map(equal, left, right))
    if kind is Kind.MAP:
        return len(left) == len(right) and all(_has_pair(right, key, value) for key, value in pairs_of(left))
    return bool(left == right)


def ordered(symbol: str, left: Any, right: Any) -> bool:
    """Say whether `left symbol right`, one of `< <= > >=`; not every type has an order."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return ORDERINGS[symbol](*_alike(left, right, kind, other))
    if kind is not other:
        raise Fault(f"{named(left)} and {named(right)} have no order")
    if kind not in _ORDERED:
        raise Fault(f"{named(left)} has no order")
    if isinstance(left, Timestamp | Duration):
        return ORDERINGS[symbol](left.nanoseconds, right.nanoseconds)
    return ORDERINGS[symbol](left, right)


def _alike(left: Any, right: Any, kind: Kind, other: Kind) -> tuple[Any, Any]:
    # As Google's evaluator has it: an integer is compared with a double as the nearest double.
    return (float(left), float(right)) if Kind.DOUBLE in (kind, other) else (left, right)


def _has_pair(holder: Any, key: Any, value: Any) -> bool:
    try:
        return equal(find(holder, key), value)
    except Fault:
        return False
