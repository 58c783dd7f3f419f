"""How dispatchers share an outbox: by subscription, so that all deliveries of one are in one pair of hands."""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class Shares:
    """The shares that one dispatcher holds, of so many in all."""

    own: frozenset[int]
    count: int

    def of(self, subscription: str) -> int:
        """Return the share that a subscription belongs to. Be careful: it changes with their number."""
        return crc32(subscription.encode()) % self.count

    def hold(self, subscription: str) -> bool:
        """Tell whether the subscription is this dispatcher's."""
        return self.of(subscription) in self.own


UNSHARED = Shares(frozenset({0}), 1)
"""One dispatcher for everything: how the embedded outbox is drained."""
