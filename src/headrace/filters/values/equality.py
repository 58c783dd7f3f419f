"""Equality and order of values."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.filters.ir.literals import Uint
from headrace.filters.values.budget import cost_of_elements, cost_of_equality, cost_of_search
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import NUMBERS, Duration, Kind, Timestamp, kind_of, named
from headrace.filters.values.maps import find, pairs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

Spend: TypeAlias = "Callable[[int], None]"

ORDERINGS: Mapping[str, Callable[[Any, Any], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIZED = frozenset({Kind.STRING, Kind.BYTES, Kind.LIST, Kind.MAP})
_ORDERED = frozenset({Kind.BOOL, Kind.STRING, Kind.BYTES, Kind.TIMESTAMP, Kind.DURATION})


def _free(_: int) -> None:
    """Ignore the cost."""


def equal(left: Any, right: Any, spend: Spend = _free) -> bool:
    """Return whether two values are equal. Values of different types never are, except numbers.

    `spend` is called with the cost of each comparison before it is made.
    """
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return bool(operator.eq(*_alike(left, right, kind, other)))
    if kind is not other:
        return False
    if kind in _SIZED:
        spend(cost_of_equality(left, right))
    if kind is Kind.LIST:
        return len(left) == len(right) and all(equal(*pair, spend) for pair in zip(left, right, strict=True))
    if kind is Kind.MAP:
        return len(left) == len(right) and all(
            _has_pair(right, key, value, spend) for key, value in pairs_of(left)
        )
    return bool(left == right)


def is_element(value: Any, elements: Any, spend: Spend = _free) -> bool:
    """Return whether the list has an element equal to the value."""
    kind = kind_of(value)
    if kind not in _SOUGHT:
        spend(cost_of_elements(elements))
        return any(equal(value, element, spend) for element in elements)
    spend(cost_of_search(value, elements))
    return _SOUGHT[kind](value, elements)


def _is_number_among(value: Any, elements: Any) -> bool:
    # Ten times faster than calling `equal` for each element. NaN doesn't equal even itself.
    if math.isnan(value):
        return False
    doubles = [element for element in elements if type(element) is float]
    integers = [element for element in elements if type(element) is int or type(element) is Uint]
    if isinstance(value, float):
        return value in doubles or value in map(float, integers)
    return value in integers or float(value) in doubles


_SOUGHT: Mapping[Kind, Callable[[Any, Any], bool]] = {
    Kind.STRING: lambda value, elements: value in elements,
    Kind.NULL: lambda value, elements: value in elements,
    Kind.BOOL: lambda value, elements: any(element is value for element in elements),
    **dict.fromkeys(NUMBERS, _is_number_among),
}


def ordered(symbol: str, left: Any, right: Any) -> bool:
    """Return `left symbol right`, with one of `< <= > >=`. Types without an order are a fault."""
    kind, other = kind_of(left), kind_of(right)
    if kind in NUMBERS and other in NUMBERS:
        return ORDERINGS[symbol](*_alike(left, right, kind, other))
    if kind is not other:
        raise Fault(f"{named(left)} and {named(right)} can't be ordered")
    if kind not in _ORDERED:
        raise Fault(f"{named(left)} has no order")
    if isinstance(left, Timestamp | Duration):
        return ORDERINGS[symbol](left.nanoseconds, right.nanoseconds)
    return ORDERINGS[symbol](left, right)


def _alike(left: Any, right: Any, kind: Kind, other: Kind) -> tuple[Any, Any]:
    # As in Google's evaluator, an integer is compared with a double as the nearest double.
    return (float(left), float(right)) if Kind.DOUBLE in (kind, other) else (left, right)


def _has_pair(holder: Any, key: Any, value: Any, spend: Spend) -> bool:
    try:
        return equal(find(holder, key), value, spend)
    except Fault:
        return False
