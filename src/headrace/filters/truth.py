"""Three truth values and Kleene's connectives over them.

De Morgan's laws hold, so in negation normal form an unknown atom may be read as false.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


class Unknown(Enum):
    """The type of `UNKNOWN`. It has no truth value: if it were false, its negation would match."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("unknown is neither true nor false; test with `is True`")


UNKNOWN = Unknown.UNKNOWN

Truth: TypeAlias = bool | Unknown


def negation(value: Truth) -> Truth:
    """Return the negation; that of unknown is unknown."""
    return UNKNOWN if value is UNKNOWN else not value


def conjunction(values: Iterable[Truth]) -> Truth:
    """Return false at the first false value, else unknown if any value is unknown."""
    result: Truth = True
    for value in values:
        if value is False:
            return False
        if value is UNKNOWN:
            result = UNKNOWN
    return result


def disjunction(values: Iterable[Truth]) -> Truth:
    """Return true at the first true value, else unknown if any value is unknown."""
    result: Truth = False
    for value in values:
        if value is True:
            return True
        if value is UNKNOWN:
            result = UNKNOWN
    return result
