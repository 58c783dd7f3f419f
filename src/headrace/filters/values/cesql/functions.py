"""CESQL's operators and functions, as functions of CEL: `LOWER(x)` is `sqlLower(x)`.

They take whatever an attribute may hold and cast it. Where CESQL has an error they return null, never CEL's error: the
first argument in error decides, and a null in gives a null out.
"""

from __future__ import annotations

import operator
from typing import TYPE_CHECKING, Any

from headrace.filters.values import maps
from headrace.filters.values.arithmetic import quotient
from headrace.filters.values.cesql.casts import (
    CASTS,
    INT32,
    OF_EVENTS,
    known,
    to_boolean,
    to_integer,
    to_string,
)
from headrace.filters.values.cesql.errors import CAST, FUNCTION, MATH, MISSING_ATTRIBUTE, CesqlError, Failure
from headrace.filters.values.faults import Fault
from headrace.filters.values.function import Function
from headrace.filters.values.kinds import Kind, kind_of, named
from headrace.filters.values.like import matcher

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.values.cesql.errors import Value

# Unicode's White_Space. Python's `strip` also takes the separators U+001C to U+001F, which are control characters.
_WHITE_SPACE = (
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def _attribute(attributes: Any, name: Any) -> Value:
    if kind_of(attributes) is not Kind.MAP or not isinstance(name, str):
        raise Fault("sqlAttribute takes a map and a string")
    if not maps.is_in(name, attributes):
        raise Failure(MISSING_ATTRIBUTE, f"the event has no {name}")
    value = maps.find(attributes, name)
    if type(value) not in CASTS:
        raise Failure(CAST, f"{name} is {named(value)}, for which CESQL has no type")
    return known(value)


def _int32(number: int) -> int:
    if number in INT32:
        return number
    raise Failure(MATH, f"{number} has more than 32 bits")


def _divide(left: int, right: int) -> int:
    if right == 0:
        raise Failure(MATH, "division by zero")
    return quotient(left, right)


def _absolute(value: Any) -> int:
    number = to_integer(value)
    if abs(number) not in INT32:
        raise Failure(MATH, f"ABS of {number} has more than 32 bits", INT32.stop - 1)
    return abs(number)


def _equal(left: Any, right: Any) -> bool:
    value, other = known(left), known(right)
    return CASTS[type(other)](value) == other


def _in(value: Any, elements: Any) -> bool:
    """Cast all elements: a set has no order in which a search could stop early."""
    plain = known(value)
    return plain in _cast_all(CASTS[type(plain)], elements)


def _like(value: Any, pattern: str) -> bool:
    return matcher(pattern)(to_string(value))


def _join(delimiter: Any, texts: Any) -> str:
    return to_string(delimiter).join(_cast_all(to_string, texts))


def _cast_all(cast: Callable[[Any], Any], elements: Any) -> list[Any]:
    if kind_of(elements) is not Kind.LIST:
        raise Fault(f"{named(elements)} is no list")
    return [cast(element) for element in elements]


def _left(value: Any, count: Any) -> str:
    text, length = to_string(value), to_integer(count)
    if length < 0:
        raise Failure(FUNCTION, f"LEFT of {length} characters", text)
    return text[:length]


def _right(value: Any, count: Any) -> str:
    text, length = to_string(value), to_integer(count)
    if length < 0:
        raise Failure(FUNCTION, f"RIGHT of {length} characters", text)
    return text[max(len(text) - length, 0) :]


def _substring(value: Any, start: Any, *lengths: Any) -> str:
    text, first, (length, *_) = to_string(value), to_integer(start), [*map(to_integer, lengths), None]
    if abs(first) > len(text) or (length is not None and length < 0):
        asked = f"from {first}" if length is None else f"from {first} of length {length}"
        raise Failure(FUNCTION, f"SUBSTRING {asked} in {len(text)} characters", "")
    if first == 0:
        return ""
    begin = first - 1 if first > 0 else len(text) + first
    return text[begin:] if length is None else text[begin : begin + length]


def _of_integers(apply: Callable[[int, int], int]) -> Callable[[Any, Any], int]:
    return lambda left, right: _int32(apply(to_integer(left), to_integer(right)))


def _ordering(apply: Callable[[int, int], bool]) -> Callable[[Any, Any], bool]:
    return lambda left, right: apply(to_integer(left), to_integer(right))


def _total(body: Callable[..., Value], zero: Value) -> Callable[..., Any]:
    """Return the function that returns errors, with the zero of its type beside those of its arguments."""

    def apply(*arguments: Any) -> Any:
        try:
            return body(*arguments)
        except Failure as failure:
            value = zero if failure.value is None else failure.value
            return CesqlError(failure.kind, failure.problem, value)

    return apply


def _returning(
    zero: Value, takes: tuple[tuple[Kind, ...], ...], bodies: Mapping[str, Callable[..., Value]]
) -> dict[str, Function]:
    return {
        name: Function(_total(body, zero), arity=(len(takes),), takes=takes) for name, body in bodies.items()
    }


_ONE, _TWO = (OF_EVENTS,), (OF_EVENTS, OF_EVENTS)
_LIST, _MAP, _TEXT = (Kind.LIST,), (Kind.MAP,), (Kind.STRING,)
_FALSE = False

FUNCTIONS: Mapping[str, Function] = {
    **_returning(_FALSE, (_MAP, _TEXT), {"sqlAttribute": _attribute}),
    **_returning(_FALSE, _ONE, {"sqlBool": to_boolean, "sqlNot": lambda value: not to_boolean(value)}),
    **_returning(
        _FALSE,
        _TWO,
        {
            "sqlAnd": lambda left, right: to_boolean(left) and to_boolean(right),
            "sqlOr": lambda left, right: to_boolean(left) or to_boolean(right),
            "sqlXor": lambda left, right: to_boolean(left) is not to_boolean(right),
            "sqlEqual": _equal,
            "sqlLess": _ordering(operator.lt),
            "sqlLessOrEqual": _ordering(operator.le),
            "sqlGreater": _ordering(operator.gt),
            "sqlGreaterOrEqual": _ordering(operator.ge),
        },
    ),
    **_returning(_FALSE, (OF_EVENTS, _LIST), {"sqlIn": _in}),
    **_returning(_FALSE, (OF_EVENTS, _TEXT), {"sqlLike": _like}),
    **_returning(
        0,
        _ONE,
        {
            "sqlInt": to_integer,
            "sqlMinus": lambda value: _int32(-to_integer(value)),
            "sqlAbs": _absolute,
            "sqlLength": lambda value: len(to_string(value)),
        },
    ),
    **_returning(
        0,
        _TWO,
        {
            "sqlAdd": _of_integers(operator.add),
            "sqlSubtract": _of_integers(operator.sub),
            "sqlMultiply": _of_integers(operator.mul),
            "sqlDivide": _of_integers(_divide),
            "sqlRemainder": _of_integers(lambda left, right: left - right * _divide(left, right)),
        },
    ),
    **_returning(
        "",
        _ONE,
        {
            "sqlString": to_string,
            "sqlLower": lambda value: to_string(value).lower(),
            "sqlUpper": lambda value: to_string(value).upper(),
            "sqlTrim": lambda value: to_string(value).strip(_WHITE_SPACE),
        },
    ),
    **_returning("", _TWO, {"sqlLeft": _left, "sqlRight": _right}),
    **_returning("", (_LIST,), {"sqlConcat": lambda texts: _join("", texts)}),
    **_returning("", (OF_EVENTS, _LIST), {"sqlConcatWs": _join}),
    "sqlSubstring": Function(_total(_substring, ""), arity=(2, 3), takes=(OF_EVENTS, OF_EVENTS, OF_EVENTS)),
}
