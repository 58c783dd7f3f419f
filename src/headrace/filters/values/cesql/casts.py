"""Casts between CESQL's types String, Integer and Boolean, of whatever an attribute may hold."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from headrace.filters.values.cesql.errors import CAST, CesqlError, Failure
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Kind, kind_of, named

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.values.cesql.errors import Value

INT32 = range(-(2**31), 2**31)
OF_EVENTS = (Kind.NULL, Kind.BOOL, Kind.INT, Kind.DOUBLE, Kind.STRING, Kind.LIST, Kind.MAP)
"""The types of attributes, extensions of CloudEvents 0.3 included. CESQL has only three of them."""

# Ten digits after leading zeros are enough for 32 bits; Python refuses to parse thousands.
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,10}")
_SHOWN = 60


def known(value: Any) -> Value:
    """Return a value that has a type in CESQL; fail for any other, and for an error."""
    if type(value) in CASTS:
        plain: Value = value
        return plain
    if isinstance(value, CesqlError):
        raise Failure(value.kind, value.problem)
    if kind_of(value) not in OF_EVENTS:
        raise Fault(f"CESQL doesn't take {named(value)}")
    raise Failure(CAST, f"{named(value)} has no type in CESQL")


def to_string(value: Any) -> str:
    """Return decimal digits, or `true` and `false` in lower case."""
    if type(value) is str:
        return value
    plain = known(value)
    return str(plain).lower() if isinstance(plain, bool) else str(plain)


def to_integer(value: Any) -> int:
    """Return 1 or 0 for booleans, and the number for strings of digits with an optional sign.

    Valid events have no integers beyond 32 bits; casting one fails, as casting its string does.
    """
    plain = known(value)
    if not isinstance(plain, str) or _INTEGER.fullmatch(plain):
        number = _read(plain) if isinstance(plain, str) else int(plain)
        if number in INT32:
            return number
    raise _uncastable(plain, "Integer")


def to_boolean(value: Any) -> bool:
    """Return false for 0 and true for other integers; for strings, `true` and `false` in any case."""
    plain = known(value)
    if not isinstance(plain, str):
        return plain != 0
    lower = plain.lower()
    if lower in ("true", "false"):
        return lower == "true"
    raise _uncastable(plain, "Boolean")


CASTS: Mapping[type, Callable[[Any], Value]] = {str: to_string, int: to_integer, bool: to_boolean}
"""The cast to each type. A boolean is no integer here, and CEL's uint is neither."""


def _read(text: str) -> int:
    # Python refuses to parse thousands of zeros.
    magnitude = int(text.lstrip("+-0") or "0")
    return -magnitude if text.startswith("-") else magnitude


def _uncastable(value: Value, target: str) -> Failure:
    shown = f"{value[:_SHOWN]}…" if isinstance(value, str) and len(value) > _SHOWN else value
    return Failure(CAST, f"{shown!r} can't be cast to {target}")
