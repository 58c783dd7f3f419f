"""Intervals of numbers, as the index holds them: integers and doubles apart, each by 64 bits in their order."""

from __future__ import annotations

import math
import struct
from dataclasses import dataclass
from typing import TYPE_CHECKING

from headrace.filters.ir.atoms import Operator
from headrace.filters.values.kinds import INT64

if TYPE_CHECKING:
    from collections.abc import Callable

EXACT = 2**53
"""Below it, every integer is a double of its own."""

_LEAST, _MOST = INT64[0], INT64[-1]


@dataclass(frozen=True, slots=True)
class Interval:
    """Numbers: integers and, apart, doubles in the order of `ordered_bits`; both ends belong to it."""

    least: int
    most: int
    least_double: int
    most_double: int

    def intersection(self, other: Interval) -> Interval:
        """Return the numbers in both."""
        return Interval(
            max(self.least, other.least),
            min(self.most, other.most),
            max(self.least_double, other.least_double),
            min(self.most_double, other.most_double),
        )


ANY_INTEGER = Interval(_LEAST, _MOST, _MOST, _LEAST)


def interval_of(operator: Operator, bound: float) -> Interval:
    """Return the numbers that compare with the bound as the operator says."""
    bits = ordered_bits(float(bound))
    match operator:
        case Operator.LESS:
            return _interval(_LEAST, _first_at_least(bound) - 1, _LEAST, bits - 1)
        case Operator.LESS_OR_EQUAL:
            return _interval(_LEAST, _first_above(bound) - 1, _LEAST, bits)
        case Operator.GREATER:
            return _interval(_first_above(bound), _MOST, bits + 1, _MOST)
        case _:
            return _interval(_first_at_least(bound), _MOST, bits, _MOST)


def _interval(least: int, most: int, least_double: int, most_double: int) -> Interval:
    """Keep the ends in 64 bits; where no integer lies between them, no intersection may find one either."""
    if least > _MOST or most < _LEAST:
        least, most = _MOST, _LEAST
    return Interval(max(least, _LEAST), min(most, _MOST), least_double, most_double)


def _first_at_least(bound: float) -> int:
    """Return the first integer that isn't less than the bound, compared as CEL does: by the nearest double."""
    if isinstance(bound, int):
        return int(bound)
    if abs(bound) < EXACT:
        return math.ceil(bound)
    return _first(lambda number: float(number) >= bound)


def _first_above(bound: float) -> int:
    if isinstance(bound, int):
        return int(bound) + 1
    if abs(bound) < EXACT:
        return math.floor(bound) + 1
    return _first(lambda number: float(number) > bound)


def _first(holds: Callable[[int], bool]) -> int:
    """Return the first integer of 64 bits for which it holds, or the one after the last."""
    low, high = _LEAST, _MOST + 1
    while low < high:
        middle = (low + high) // 2
        if holds(middle):
            high = middle
        else:
            low = middle + 1
    return low


def double_bits(number: float) -> int:
    """Return the bits of a double as a signed integer; zero has one sign."""
    bits: int = struct.unpack("<q", struct.pack("<d", number + 0.0))[0]
    return bits


def ordered_bits(number: float) -> int:
    """Return an integer of 64 bits that orders as the double does."""
    bits = double_bits(number)
    return bits if bits >= 0 else -(bits & _MOST)
