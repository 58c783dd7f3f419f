"""When to look into the ledger for whom, in memory: one entry for each subscription and stage that waits."""

from __future__ import annotations

import asyncio
import heapq

from headrace.clock import CLOCK
from headrace.delivery.step import pause

QueueId = tuple[str, str]
"""A subscription and a stage."""


class RetrySchedule:
    """For one event loop. An entry may be early, and then the look is for nothing.

    It is late by `seconds` at most: so long is waited for somebody who asks for a look at once.
    """

    def __init__(self, seconds: float) -> None:
        self._seconds = seconds
        self._dues: dict[QueueId, float] = {}
        self._heap: list[tuple[float, QueueId]] = []
        self._woken = asyncio.Event()

    def add(self, queue_id: QueueId, due: float) -> None:
        """Look there at that time, or earlier where that is asked for already."""
        known = self._dues.get(queue_id)
        if known is None or due < known:
            self._dues[queue_id] = due
            heapq.heappush(self._heap, (due, queue_id))

    def wake(self, queue_id: QueueId) -> None:
        """Look there at once."""
        self.add(queue_id, 0.0)
        self._woken.set()

    def take_due(self) -> list[QueueId]:
        """Return the queue_ids to look at now, and forget them."""
        self._woken.clear()
        now, queue_ids = CLOCK.time(), []
        while self._heap and self._heap[0][0] <= now:
            due, queue_id = heapq.heappop(self._heap)
            if self._dues.get(queue_id) == due:
                del self._dues[queue_id]
                queue_ids.append(queue_id)
        return queue_ids

    def wake_up(self) -> None:
        """Wait for nobody now."""
        self._woken.set()

    async def wait(self) -> None:
        """Wait until somebody asks for a look at once, or something may be due."""
        await pause(self._seconds, self._woken)
