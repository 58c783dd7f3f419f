"""Three truth values and Kleene's connectives over them.

De Morgan's laws hold, so after negation normal form an unknown atom may be read as false.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterable


class Unknown(Enum):
    """The type of `UNKNOWN`. It has no truth value: taking it for false turns into a match under a `not`."""

    UNKNOWN = "unknown"

    def __bool__(self) -> bool:
        raise TypeError("unknown is neither true nor false; ask `is True`")


UNKNOWN = Unknown.UNKNOWN

Truth: TypeAlias = bool | Unknown


def negation(value: Truth) -> Truth:
    """Return the opposite; the opposite of unknown is unknown."""
    return UNKNOWN if value is UNKNOWN else not value


def conjunction(values: Iterable[Truth]) -> Truth:
    """Stop at the first false; without one, a single unknown makes it unknown."""
    result: Truth = True
    for value in values:
        if value is False:
            return False
        if value is UNKNOWN:
            result = UNKNOWN
    return result


def disjunction(values: Iterable[Truth]) -> Truth:
    """Stop at the first true; without one, a single unknown makes it unknown."""
    result: Truth = False
    for value in values:
        if value is True:
            return True
        if value is UNKNOWN:
            result = UNKNOWN
    return result
