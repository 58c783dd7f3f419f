"""When to look into the ledger for whom, in memory: one entry for each subscription and stage that waits."""

from __future__ import annotations

import asyncio
import heapq

from headrace.clock import CLOCK

Place = tuple[str, str]
"""A subscription and a stage."""


class Agenda:
    """For one event loop. An entry may be early, and then the look is for nothing; it is never late."""

    def __init__(self) -> None:
        self._dues: dict[Place, float] = {}
        self._heap: list[tuple[float, Place]] = []
        self._woken = asyncio.Event()

    def add(self, place: Place, due: float) -> None:
        """Look there at that time, or earlier where that is asked for already."""
        known = self._dues.get(place)
        if known is None or due < known:
            self._dues[place] = due
            heapq.heappush(self._heap, (due, place))

    def wake(self, place: Place) -> None:
        """Look there at once."""
        self.add(place, 0.0)
        self._woken.set()

    def take_due(self) -> list[Place]:
        """Return the places to look at now, and forget them."""
        self._woken.clear()
        now, places = CLOCK.time(), []
        while self._heap and self._heap[0][0] <= now:
            due, place = heapq.heappop(self._heap)
            if self._dues.get(place) == due:
                del self._dues[place]
                places.append(place)
        return places

    async def woken(self) -> None:
        """Wait until somebody asks for a look at once."""
        await self._woken.wait()
