"""Casts between CESQL's three types."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal, TypeAlias

from headrace.filters.cesql.faults import CesqlFault, ErrorKind, EvaluationError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.filters.cesql.faults import Value

TypeName: TypeAlias = Literal["String", "Integer", "Boolean"]

INT32 = range(-(2**31), 2**31)
ZEROS: Mapping[TypeName, Value] = {"String": "", "Integer": 0, "Boolean": False}

# Ten digits after leading zeros are enough for 32 bits; Python refuses to parse thousands.
_INTEGER = re.compile(r"[+-]?0*[0-9]{1,10}")
_TYPE_NAMES: Mapping[type, TypeName] = {str: "String", int: "Integer", bool: "Boolean"}


def type_of(value: Value) -> TypeName:
    """Return the CESQL type of a value."""
    return _TYPE_NAMES[type(value)]


def to_string(value: Value, _position: int = 0) -> str:
    """Return decimal digits, or `true` and `false` in lower case. Never fails."""
    if isinstance(value, str):
        return value
    return str(value).lower() if isinstance(value, bool) else str(value)


def to_integer(value: Value, position: int = 0) -> int:
    """Return 1 or 0 for booleans, and the number for strings of digits with an optional sign.

    Valid events have no integers beyond 32 bits; casting one fails, as casting its string does.
    """
    if not isinstance(value, str) or _INTEGER.fullmatch(value):
        number = _read(value) if isinstance(value, str) else int(value)
        if number in INT32:
            return number
    raise _cast_fault(value, "Integer", position)


def _read(text: str) -> int:
    # Python refuses to parse thousands of zeros.
    magnitude = int(text.lstrip("+-0") or "0")
    return -magnitude if text.startswith("-") else magnitude


def to_boolean(value: Value, position: int = 0) -> bool:
    """Return false for 0 and true for other integers; for strings, `true` and `false` in any case."""
    if not isinstance(value, str):
        return value != 0
    lower = value.lower()
    if lower == "true":
        return True
    if lower == "false":
        return False
    raise _cast_fault(value, "Boolean", position)


CASTS: Mapping[TypeName, Callable[[Value, int], Value]] = {
    "String": to_string,
    "Integer": to_integer,
    "Boolean": to_boolean,
}


def _cast_fault(value: Value, target: TypeName, position: int) -> CesqlFault:
    shown = f"{value[:60]}…" if isinstance(value, str) and len(value) > 60 else value
    return CesqlFault(EvaluationError(ErrorKind.CAST, f"{shown!r} can't be cast to {target}", position))
