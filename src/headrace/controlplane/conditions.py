"""Conditions: how an object fares, one line per aspect, with the reason where it fares badly.

`Ready` follows from the others: false if any is false, unknown if any is unknown, and for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

READY = "Ready"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One aspect. `since` is when its status last changed, and empty until it is kept."""

    type: str
    status: str
    reason: str = ""
    message: str = ""
    since: str = ""

    def document(self) -> dict[str, Any]:
        """Return it as Kubernetes shows it."""
        shown = {"type": self.type, "status": self.status, "lastTransitionTime": self.since}
        if self.reason:
            shown["reason"] = self.reason
        if self.message:
            shown["message"] = self.message
        return shown


def is_true(type_: str) -> Condition:
    """Say that all is well."""
    return Condition(type_, TRUE)


def is_false(type_: str, reason: str, message: str) -> Condition:
    """Say what is wrong."""
    return Condition(type_, FALSE, reason, message)


def with_ready(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Put `Ready` before them."""
    others = tuple(conditions)
    for status in (FALSE, UNKNOWN):
        for each in others:
            if each.status == status:
                return replace(each, type=READY), *others
    return Condition(READY, TRUE), *others


def dated(new: Iterable[Condition], old: Iterable[Condition]) -> tuple[Condition, ...]:
    """Give each the time at which its status became what it is."""
    known = {each.type: each for each in old}
    now = timestamp()
    return tuple(
        replace(each, since=known[each.type].since)
        if each.type in known and known[each.type].status == each.status
        else replace(each, since=now)
        for each in new
    )
