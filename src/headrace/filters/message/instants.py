"""RFC 3339 timestamps in milliseconds since the epoch."""

from __future__ import annotations

import re

from headrace.events.timestamps import is_timestamp

_PARTS = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))", re.ASCII
)
_DAYS_TO_EPOCH = 719_468


def milliseconds(text: str) -> int | None:
    """Return the instant, or nothing where the text is no timestamp.

    Fractions of a millisecond are cut off, and a leap second is the first second after it: whoever asks
    `event_time >= t` for a whole `t` gets the right answer either way.
    """
    parts = _PARTS.fullmatch(text)
    if parts is None or not is_timestamp(text):
        return None
    year, month, day, hour, minute, second = map(int, parts.groups()[:6])
    offset = 0
    if parts[8]:
        offset = int(f"{parts[8]}1") * (int(parts[9]) * 60 + int(parts[10]))
    minutes = (_days(year, month, day) * 24 + hour) * 60 + minute - offset
    return (minutes * 60 + second) * 1000 + int((parts[7] or "").ljust(3, "0")[:3])


def _days(year: int, month: int, day: int) -> int:
    """Count the days since the epoch in the Gregorian calendar; `datetime` doesn't know the year 0."""
    year -= month <= 2
    era_day = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return year * 365 + year // 4 - year // 100 + year // 400 + era_day - _DAYS_TO_EPOCH
