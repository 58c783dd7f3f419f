"""Deliveries that are in memory alone, under way or queued: none of them holds up the others for long.

The cursor can't pass a delivery that only memory has. An attempt may take an hour, and what is queued behind it as
long; meanwhile everything acknowledged behind the cursor would be repeated after a restart, and the outbox could not
be cleared. So whatever has been in memory alone for a few seconds is written to the ledger as well. It stays where it
is, and the ledger is told of its end as of that of a retry.
"""

from __future__ import annotations

import time
from math import inf
from typing import TYPE_CHECKING

from headrace.delivery.step import PolledStep

if TYPE_CHECKING:
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.settlement.settlement import Settlement

# Written in one round: commits stay short however many sinks hang.
_MOST_AT_A_TIME = 5_000


class Unsaved(PolledStep):
    """For one event loop. `seconds` is for how long a delivery may be in memory alone."""

    def __init__(self, queues: SubscriptionQueues, settlement: Settlement, seconds: float) -> None:
        self._queues = queues
        self._settlement = settlement
        self._seconds = seconds

    async def poll(self) -> float:
        """Let the ledger have what has been in memory alone for too long, or some of it; the rest is next."""
        self._save(time.monotonic() - self._seconds, _MOST_AT_A_TIME)
        return self._seconds / 4

    async def join(self) -> None:
        """Let the ledger have everything: then nothing holds the cursor."""
        self._save(inf, inf)
        await self._settlement.commit_all()

    def _save(self, before: float, most: float) -> None:
        for queue in self._queues.busy():
            if queue.state.joins_since(before):
                self._settlement.part(queue)
            saved = queue.save(before)
            self._settlement.save(queue, saved)
            most -= len(saved)
            if most <= 0:
                return
