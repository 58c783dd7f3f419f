"""RFC 3339 timestamps, checked but never re-formatted."""

from __future__ import annotations

import re

_DAY_OF_MONTH = (
    r"(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])"
    r"|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)"
    r"|02-(?:0[1-9]|1[0-9]|2[0-8])"
    r"|02-(?P<leap>29))"
)
_TIME_OF_DAY = r"(?:[01][0-9]|2[0-3]):[0-5][0-9]:(?:[0-5][0-9]|60)(?:\.[0-9]+)?"
_OFFSET = r"(?:[Zz]|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])"
_TIMESTAMP = re.compile(rf"([0-9]{{4}})-{_DAY_OF_MONTH}[Tt]{_TIME_OF_DAY}{_OFFSET}")


def is_timestamp(text: str) -> bool:
    """Tell whether `text` is an RFC 3339 date-time of a day that exists.

    A leap second may stand at any minute, since which minutes had one is not known in advance.
    """
    match = _TIMESTAMP.fullmatch(text)
    return match is not None and (match["leap"] is None or _is_leap_year(int(match[1])))


def _is_leap_year(year: int) -> bool:
    return year % 4 == 0 and (year % 100 != 0 or year % 400 == 0)
