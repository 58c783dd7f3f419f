"""Conversions between types: `int(x)`, `string(x)` and so on."""

from __future__ import annotations

import math
import re
from typing import Any

from headrace.filters.ir.literals import Uint
from headrace.filters.values import times
from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import INT64, UINT64, Duration, Kind, Timestamp, kind_of, named
from headrace.filters.values.texts import write_double

_SPACE = " \t\n\v\f\r"
_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_DOUBLE = re.compile(
    r"[+-]?(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[+-]?[0-9]+)?|inf(?:inity)?|nan)", re.ASCII | re.IGNORECASE
)
_NAN = re.compile(r"[+-]?nan\([a-z0-9_]*\)", re.ASCII | re.IGNORECASE)
_HEXADECIMAL = re.compile(
    r"[+-]?0x(?:[0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p[+-]?[0-9]+)?", re.ASCII | re.IGNORECASE
)
_BOOLEANS = {
    **dict.fromkeys(("true", "TRUE", "True", "t", "1"), True),
    **dict.fromkeys(("false", "FALSE", "False", "f", "0"), False),
}
_DIGITS = 40


def to_int(value: Any) -> int:
    """Convert to a signed integer; doubles are rounded towards zero, timestamps become seconds since the epoch."""
    match value:
        case str():
            return int64(_read_integer(value))
        case float():
            # The doubles at the ends of the range don't convert back.
            if not -(2.0**63) < value < 2.0**63:
                raise Fault("the double is beyond the range of int")
            return int(value)
        case bool() | int():
            return int64(int(value))
        case Timestamp():
            return value.nanoseconds // times.SECOND
        case _:
            raise Fault(f"{named(value)} can't be an int")


def to_uint(value: Any) -> Uint:
    """Convert to an unsigned integer."""
    match value:
        case str():
            if "-" in value:
                raise Fault(f"{value[:_DIGITS]!r} is not a uint")
            return uint64(_read_integer(value))
        case float():
            if not 0 <= value < 2.0**64:
                raise Fault("the double is beyond the range of uint")
            return Uint(int(value))
        case int() if not isinstance(value, bool):
            return uint64(int(value))
        case _:
            raise Fault(f"{named(value)} can't be a uint")


def to_double(value: Any) -> float:
    """Convert to the nearest double."""
    match value:
        case str():
            return _read_double(value)
        case bool():
            raise Fault("a bool can't be a double")
        case int() | float():
            return float(value)
        case _:
            raise Fault(f"{named(value)} can't be a double")


def to_string(value: Any) -> str:  # noqa: PLR0911 -- one per type
    """Convert to the canonical string."""
    match value:
        case str():
            return value
        case bool():
            return "true" if value else "false"
        case int():
            return str(int(value))
        case float():
            return write_double(value)
        case bytes():
            return _decoded(value)
        case Timestamp():
            return times.write_timestamp(value)
        case Duration():
            return times.write_duration(value)
        case _:
            raise Fault(f"{named(value)} has no canonical string")


def to_bytes(value: Any) -> bytes:
    """Convert a string to its UTF-8 form."""
    if kind_of(value) is Kind.BYTES:
        return bytes(value)
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass")
    raise Fault(f"{named(value)} can't be bytes")


def to_bool(value: Any) -> bool:
    """Convert the spellings of true and false."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and value in _BOOLEANS:
        return _BOOLEANS[value]
    raise Fault(f"{named(value)} can't be a bool")


def to_timestamp(value: Any) -> Timestamp:
    """Convert a text or the seconds since the epoch."""
    match value:
        case Timestamp():
            return value
        case str():
            return times.read_timestamp(value)
        case int() if kind_of(value) is Kind.INT:
            return times.timestamp(value * times.SECOND)
        case _:
            raise Fault(f"{named(value)} can't be a timestamp")


def to_duration(value: Any) -> Duration:
    """Convert a text such as `1h30m`."""
    match value:
        case Duration():
            return value
        case str():
            return times.read_duration(value)
        case _:
            raise Fault(f"{named(value)} can't be a duration")


def int64(number: int) -> int:
    """Return the number if it fits in 64 bits, else raise a `Fault`."""
    if int(number) not in INT64:  # testing a Uint would walk through the range
        raise Fault("the result is beyond the range of int")
    return number


def uint64(number: int) -> Uint:
    """Return the number as unsigned if it fits in 64 bits, else raise a `Fault`."""
    if int(number) not in UINT64:
        raise Fault("the result is beyond the range of uint")
    return Uint(number)


def _read_integer(text: str) -> int:
    digits = text.strip(_SPACE)
    if _INTEGER.fullmatch(digits) is None or len(digits.lstrip("+-0")) > _DIGITS:
        raise Fault(f"{text[:_DIGITS]!r} is not an integer")
    magnitude = int(digits.lstrip("+-0") or "0")
    return -magnitude if digits.startswith("-") else magnitude


def _read_double(text: str) -> float:
    digits = text.strip(_SPACE)
    if _DOUBLE.fullmatch(digits):
        return float(digits)
    if _NAN.fullmatch(digits):
        return math.nan
    if _HEXADECIMAL.fullmatch(digits):
        try:
            return float.fromhex(digits)
        except OverflowError:
            return float("-inf" if digits.startswith("-") else "inf")
    raise Fault(f"{text[:_DIGITS]!r} is not a double")


def _decoded(value: bytes) -> str:
    try:
        return value.decode()
    except UnicodeDecodeError:
        raise Fault("the bytes are not UTF-8") from None
