"""Timestamps and durations: texts, arithmetic and calendar fields."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING
from zoneinfo import ZoneInfo

from headrace.filters.values.faults import Fault
from headrace.filters.values.kinds import Duration, Timestamp

if TYPE_CHECKING:
    from collections.abc import Callable

SECOND = 10**9
_FIRST, _LAST = -62135596800 * SECOND, 253402300800 * SECOND - 1
_LONGEST = 315576000001 * SECOND - 1
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_UNITS = {"h": 3600 * SECOND, "m": 60 * SECOND, "s": SECOND, "ms": 10**6, "us": 10**3, "ns": 1}

_TIMESTAMP = re.compile(
    r"\s*([0-9]{1,5})-([0-9]{1,2})-([0-9]{1,2})[Tt]([0-9]{1,2}):([0-9]{1,2}):([0-9]{1,2})(?:\.([0-9]+))?"
    r"(?:[Zz]|([+-])([0-9]{2})(?::?([0-9]{2}))?)\s*",
    re.ASCII,
)
_DURATION = re.compile(r"[+-]?(?:0|(?:(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:h|ms|m|s|us|ns))+)", re.ASCII)
_SPAN = re.compile(r"([0-9]*\.?[0-9]*)(h|ms|m|s|us|ns)", re.ASCII)
_DIGITS = 40
_LONGEST_ZONE = 100
_OFFSET = re.compile(r"([+-]?)([0-9]{2}):([0-9]{2})", re.ASCII)


def timestamp(nanoseconds: int) -> Timestamp:
    """Make a timestamp; outside the years 1 to 9999 it is a fault."""
    if not _FIRST <= nanoseconds <= _LAST:
        raise Fault("a timestamp lies between the years 1 and 9999")
    return Timestamp(nanoseconds)


def duration(nanoseconds: int) -> Duration:
    """Make a duration; beyond ten thousand years it is a fault."""
    if abs(nanoseconds) > _LONGEST:
        raise Fault("a duration is at most ten thousand years")
    return Duration(nanoseconds)


def read_timestamp(text: str) -> Timestamp:
    """Parse RFC 3339 as leniently as Google's evaluator does. Second 60 is the first of the next minute."""
    found = _TIMESTAMP.fullmatch(text)
    if found is None:
        raise Fault(f"{text[:40]!r} is not a timestamp")
    year, month, day, hour, minute, second = map(int, found.groups()[:6])
    fraction, sign, *offset = found.groups()[6:]
    hours, minutes = (int(each or 0) for each in offset)
    if second > 60 or hours > 23 or minutes > 59:
        raise Fault(f"{text[:40]!r} is not a timestamp")
    try:
        moment = datetime(year, month, day, hour, minute, tzinfo=UTC) - _EPOCH
    except ValueError:
        raise Fault(f"{text[:40]!r} is not a timestamp") from None
    ahead = (hours * 3600 + minutes * 60) * (-1 if sign == "-" else 1)
    seconds = moment.days * 86400 + moment.seconds + second - ahead
    return timestamp(seconds * SECOND + int((fraction or "0")[:9].ljust(9, "0")))


def read_duration(text: str) -> Duration:
    """Parse `1h30m`, `-1.5s` or `0`, with units down to `ns`."""
    if _DURATION.fullmatch(text) is None:
        raise Fault(f"{text[:40]!r} is not a duration")
    total = sum(int(_number(digits) * _UNITS[unit]) for digits, unit in _SPAN.findall(text))
    return duration(-total if text.startswith("-") else total)


def write_timestamp(moment: Timestamp) -> str:
    """Return RFC 3339 in UTC, with the fraction in groups of three digits."""
    seconds, nanoseconds = divmod(moment.nanoseconds, SECOND)
    whole = (_EPOCH + timedelta(seconds=seconds)).replace(tzinfo=None).isoformat()
    return f"{whole}{_fraction(nanoseconds)}Z"


def write_duration(span: Duration) -> str:
    """Return the seconds followed by `s`, with the fraction in groups of three digits."""
    seconds, nanoseconds = divmod(abs(span.nanoseconds), SECOND)
    return f"{'-' if span.nanoseconds < 0 else ''}{seconds}{_fraction(nanoseconds)}s"


def of_moment(field: Callable[[datetime], int]) -> Callable[..., int]:
    """Return a function that reads a calendar field in UTC, or in the zone that is its second argument."""

    def read(moment: Timestamp, zone: str = "UTC") -> int:
        seconds = moment.nanoseconds // SECOND
        return field(_local(_EPOCH + timedelta(seconds=seconds), zone))

    return read


def of_span(unit: int) -> Callable[[Duration], int]:
    """Return a function that counts the whole units of a duration, rounded towards zero."""

    def count(span: Duration) -> int:
        whole = abs(span.nanoseconds) // unit
        return -whole if span.nanoseconds < 0 else whole

    return count


def milliseconds_of_moment(moment: Timestamp, zone: str = "UTC") -> int:
    """Return the milliseconds within the second."""
    _local(_EPOCH, zone)
    return moment.nanoseconds % SECOND // 10**6


def milliseconds_of_span(span: Duration) -> int:
    """Return the milliseconds within the second, with the sign of the duration."""
    within = abs(span.nanoseconds) % SECOND // 10**6
    return -within if span.nanoseconds < 0 else within


def _local(moment: datetime, zone: str) -> datetime:
    if len(zone) > _LONGEST_ZONE:
        raise Fault(f"{zone[:40]!r} is not a time zone")
    offset = _OFFSET.fullmatch(zone)
    try:
        if offset is None:
            return moment.astimezone(ZoneInfo(zone or "UTC"))
        sign, hours, minutes = offset.groups()
        ahead = timedelta(hours=int(hours), minutes=int(minutes))
        return moment - ahead if sign == "-" else moment + ahead
    except (KeyError, ValueError, OSError):
        raise Fault(f"{zone[:40]!r} is not a time zone") from None
    except OverflowError:
        raise Fault("a timestamp lies between the years 1 and 9999") from None


def _fraction(nanoseconds: int) -> str:
    if nanoseconds == 0:
        return ""
    digits = f"{nanoseconds:09d}"
    while digits.endswith("000"):
        digits = digits[:-3]
    return f".{digits}"


def _number(digits: str) -> Fraction:
    """Parse a decimal number. Cut its digits below a nanosecond: Python refuses to parse thousands of them."""
    whole, _, fraction = digits.partition(".")
    significant = whole.lstrip("0")
    if len(significant) > _DIGITS:
        raise Fault("a duration is at most ten thousand years")
    return Fraction(f"{significant or '0'}.{fraction[:_DIGITS] or '0'}")
