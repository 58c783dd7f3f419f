"""Partitions of the outbox: dispatchers share it by subscription, so that one dispatcher has all deliveries of one.

The ledger calls them shares.
"""

from __future__ import annotations

from dataclasses import dataclass
from zlib import crc32


@dataclass(frozen=True, slots=True)
class OutboxPartitions:
    """The partitions assigned to one dispatcher, out of `count`."""

    own: frozenset[int]
    count: int

    def of(self, subscription: str) -> int:
        """Return the partition that a subscription belongs to. Be careful: it changes with their number."""
        return crc32(subscription.encode()) % self.count

    def holds(self, subscription: str) -> bool:
        """Tell whether the subscription is this dispatcher's."""
        return self.of(subscription) in self.own


WHOLE_OUTBOX = OutboxPartitions(frozenset({0}), 1)
"""One dispatcher for everything: how the embedded outbox is drained."""
