"""Conditions: the state of an object, one per aspect, with the reason if something is wrong.

`Ready` follows from the others: false if any is false, unknown if any is unknown, for the same reason.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Iterable

READY = "Ready"
TRUE, FALSE, UNKNOWN = "True", "False", "Unknown"


@dataclass(frozen=True, slots=True)
class Condition:
    """One aspect. `since` is when its status last changed; it is empty until the condition is stored."""

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


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed state: `status` has the other members of the status, `subscribers` belong to a channel's spec."""

    conditions: tuple[Condition, ...]
    status: dict[str, Any] = field(default_factory=dict)
    subscribers: tuple[dict[str, Any], ...] = ()


def is_true(type_: str) -> Condition:
    """Return a condition that holds."""
    return Condition(type_, TRUE)


def is_false(type_: str, reason: str, message: str) -> Condition:
    """Return a condition that doesn't hold, and why."""
    return Condition(type_, FALSE, reason, message)


def with_ready(conditions: Iterable[Condition]) -> tuple[Condition, ...]:
    """Put `Ready` before the conditions."""
    others = tuple(conditions)
    for status in (FALSE, UNKNOWN):
        for each in others:
            if each.status == status:
                return replace(each, type=READY), *others
    return Condition(READY, TRUE), *others


def dated(new: Iterable[Condition], old: Iterable[Condition]) -> tuple[Condition, ...]:
    """Set the time at which each condition's status last changed."""
    known = {each.type: each for each in old}
    now = timestamp()
    return tuple(
        replace(each, since=known[each.type].since)
        if each.type in known and known[each.type].status == each.status
        else replace(each, since=now)
        for each in new
    )
