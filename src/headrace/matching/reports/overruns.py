"""Filters that cost more than they should, for whoever looks after the subscriptions."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_MOST = 1000


@dataclass(frozen=True, slots=True)
class Overrun:
    """A subscription's filter cost too much: how often, and why on the last event, which had this position."""

    subscription: str
    reason: str
    position: int
    times: int = 1


class Overruns:
    """Collects overruns until they are taken, one per subscription. What is beyond the room for them is counted."""

    def __init__(self) -> None:
        self._latest: dict[str, Overrun] = {}
        self.dropped = 0

    def note(self, subscriptions: Iterable[str], reason: str, position: int) -> None:
        """Note that the filter of these subscriptions cost too much on the event at a position, or -1."""
        for subscription in subscriptions:
            known = self._latest.get(subscription)
            if known is not None:
                self._latest[subscription] = replace(
                    known, reason=reason, position=position, times=known.times + 1
                )
            elif len(self._latest) < _MOST:
                self._latest[subscription] = Overrun(subscription, reason, position)
            else:
                self.dropped += 1

    def take(self) -> list[Overrun]:
        """Return what was noted since the last call."""
        taken, self._latest = self._latest, {}
        return list(taken.values())
