"""Numbers as texts: strictly, where a filter is read; as CEL's `int()` and `double()` do, on an event."""

from __future__ import annotations

import re

from headrace.errors import FilterError
from headrace.filters.message.faults import shown
from headrace.filters.message.operators import ValueType

_LONG = re.compile(r"[+-]?[0-9]{1,40}\Z")
_DOUBLE = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?\Z")

_SPACE = " \t\n\v\f\r"
_CEL_INT = re.compile(r"[+-]?[0-9]+\Z")
_CEL_HEX = re.compile(r"[+-]?0x(?:[0-9a-f]+(?:\.[0-9a-f]*)?|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?\Z", re.IGNORECASE)
_CEL_NAMED = re.compile(r"([+-]?)(?:(inf(?:inity)?)|nan(?:\([a-z0-9_]*\))?)\Z", re.IGNORECASE)
_MAX_DIGITS = 19
_INT64 = range(-(2**63), 2**63)


def read_operand(text: str, value_type: ValueType) -> str | int | float:
    """Return the operand that a filter wrote as text; whether it is in range is the predicate's to say."""
    match value_type:
        case ValueType.STRING:
            return text
        case ValueType.LONG if _LONG.match(text):
            return int(text)
        case ValueType.DOUBLE if _DOUBLE.match(text):
            return float(text)
        case _:
            raise FilterError(f"{shown(text)} is no {value_type.value}", value=text)


def write_operand(value: str | float) -> str:
    """Return the text from which `read_operand` reads the same value."""
    return value if isinstance(value, str) else repr(value)


def cel_int(text: str) -> int | None:
    """Return what CEL's `int(text)` does, or nothing where that is an error: no digits, or beyond 64 bits."""
    text = text.strip(_SPACE)
    if not _CEL_INT.match(text) or len(text.lstrip("+-0")) > _MAX_DIGITS:
        return None
    value = int(text)
    return value if value in _INT64 else None


def cel_double(text: str) -> float | None:
    """Return what CEL's `double(text)` does, or nothing where that is an error."""
    text = text.strip(_SPACE)
    if _DOUBLE.match(text):
        return float(text)
    if _CEL_HEX.match(text):
        return _from_hex(text)
    named = _CEL_NAMED.match(text)
    return float(named[1] + ("inf" if named[2] else "nan")) if named else None


def _from_hex(text: str) -> float:
    try:
        return float.fromhex(text)
    except OverflowError:
        return float("-inf" if text.startswith("-") else "inf")
