"""`+ - * / %` and unary `-`, within one type. A result beyond the range of its type is an error."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

from headrace.filters.values import times
from headrace.filters.values.conversions import int64, uint64
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Duration, Kind, Timestamp, kind_of, named

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.filters.ir.literals import Uint

_Overloads = dict[tuple[str, Kind, Kind], "Callable[[Any, Any], Any]"]


def compute(symbol: str, left: Any, right: Any) -> Any:
    """Return `left symbol right`."""
    overload = _OVERLOADS.get((symbol, kind_of(left), kind_of(right)))
    if overload is None:
        raise Fault(f"{named(left)} {symbol} {named(right)} is not defined")
    return overload(left, right)


def negate(value: Any) -> Any:
    """Return `-value` for an int or a double."""
    match kind_of(value):
        case Kind.INT:
            return int64(-value)
        case Kind.DOUBLE:
            return -value
        case _:
            raise Fault(f"{named(value)} can't be negated")


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise Fault("division by zero")
    return quotient(left, right)


def quotient(left: int, right: int) -> int:
    """Divide towards zero, as C does and Python doesn't."""
    magnitude = abs(left) // abs(right)
    return magnitude if (left < 0) == (right < 0) else -magnitude


def _modulo(left: int, right: int) -> int:
    # Where the quotient overflows the remainder doesn't, but Google's evaluator refuses both.
    return left - int64(_divide(left, right)) * right


def _divide_doubles(left: float, right: float) -> float:
    if right != 0.0:
        return left / right
    if left == 0.0 or math.isnan(left):
        return math.nan
    return math.copysign(math.inf, left) * math.copysign(1.0, right)


def _signed(apply: Callable[[int, int], int]) -> Callable[[int, int], int]:
    return lambda left, right: int64(apply(left, right))


def _unsigned(apply: Callable[[int, int], int]) -> Callable[[int, int], Uint]:
    # Plain integers: the operators of a subclass of int are slower and no more precise.
    return lambda left, right: uint64(apply(int(left), int(right)))


def _moment_plus(moment: Timestamp, span: Duration) -> Timestamp:
    return times.timestamp(moment.nanoseconds + span.nanoseconds)


_INTEGER_OPERATIONS: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide,
}
_DOUBLE_OPERATIONS: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": _divide_doubles,
}

_OVERLOADS: _Overloads = {
    **{(symbol, Kind.INT, Kind.INT): _signed(apply) for symbol, apply in _INTEGER_OPERATIONS.items()},
    **{(symbol, Kind.UINT, Kind.UINT): _unsigned(apply) for symbol, apply in _INTEGER_OPERATIONS.items()},
    **{(symbol, Kind.DOUBLE, Kind.DOUBLE): apply for symbol, apply in _DOUBLE_OPERATIONS.items()},
    ("%", Kind.INT, Kind.INT): _modulo,
    ("%", Kind.UINT, Kind.UINT): _unsigned(lambda left, right: left - _divide(left, right) * right),
    ("+", Kind.STRING, Kind.STRING): operator.add,
    ("+", Kind.BYTES, Kind.BYTES): operator.add,
    ("+", Kind.LIST, Kind.LIST): lambda left, right: [*left, *right],
    ("+", Kind.TIMESTAMP, Kind.DURATION): _moment_plus,
    ("+", Kind.DURATION, Kind.TIMESTAMP): lambda span, moment: _moment_plus(moment, span),
    ("+", Kind.DURATION, Kind.DURATION): lambda a, b: times.duration(a.nanoseconds + b.nanoseconds),
    ("-", Kind.TIMESTAMP, Kind.DURATION): lambda a, b: times.timestamp(a.nanoseconds - b.nanoseconds),
    ("-", Kind.TIMESTAMP, Kind.TIMESTAMP): lambda a, b: times.duration(a.nanoseconds - b.nanoseconds),
    ("-", Kind.DURATION, Kind.DURATION): lambda a, b: times.duration(a.nanoseconds - b.nanoseconds),
}
