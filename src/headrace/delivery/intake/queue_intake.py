"""From the outbox into the queues.

What a queue can't take goes to the ledger, so that a slow sink never holds up the reading for the others.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from headrace.delivery.intake.planned import Planned
from headrace.delivery.queue.delivery import Delivery
from headrace.ledger.ledger import Key

if TYPE_CHECKING:
    import pyarrow as pa

    from headrace.delivery.intake.kept import KeptAtStart
    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.intake.subscribers import SubscriptionChanges
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.retry.events import EventSource
    from headrace.delivery.settlement.settlement import Settlement
    from headrace.events.positions import LogPosition

_FULL = "the subscription's queue was full"
_MAY_PRECEDE = "it may come before what waits already"
# A queue that is full and brisk is waited for: so many steps at most for each lot of pairs.
_STEP_SECONDS, _MOST_STEPS = 0.01, 25


class QueueIntake:
    """For one event loop. Positions come in increasing order within each partition of the log."""

    def __init__(
        self,
        events: EventSource,
        changes: SubscriptionChanges,
        queues: SubscriptionQueues,
        settlement: Settlement,
        progress: DeliveryProgress,
        kept: KeptAtStart,
    ) -> None:
        self._events = events
        self._changes = changes
        self._subscribers = changes.subscribers
        self._queues = queues
        self._settlement = settlement
        self._progress = progress.log
        self._kept = kept

    async def submit(self, pairs: pa.Table) -> bool:
        """Begin the deliveries of these pairs of position and subscription; False while the ledger is behind."""
        if self._settlement.is_full:
            return False
        await self.begin(pairs)
        return True

    def recover_to(self, position: LogPosition) -> None:
        """All before this cut has begun: from here on, nothing may be planned that the ledger held at the start."""
        if self._kept.is_passed(position):
            self._kept.forget()
            self.recovered()

    def recovered(self) -> None:
        """Nothing that comes may precede what waits in the ledger."""
        self._queues.is_recovering = False

    async def begin(self, pairs: pa.Table) -> None:
        """Begin the deliveries of these pairs, also where the ledger is behind: for what can't be left at a stop."""
        planned = Planned(pairs)
        await self._changes.learn(planned.subscriptions)
        kept = await self._kept.of(planned.positions.tolist())
        if kept:
            planned = planned.without(kept)
        # All of them now, since positions have to begin in their order.
        self._progress.begin_all(planned.positions)
        pairs_left = planned.pairs(leaving=self._spill(planned))
        payloads = await self._events.read_log({position for position, _ in pairs_left})
        steps, now = _MOST_STEPS, time.monotonic()
        for position, subscription in pairs_left:
            queue, payload = self._queues.get(subscription), payloads.get(position)
            if queue is not None and not self._has_room(queue) and steps and not queue.state.is_ordered:
                steps = await self._wait_for(queue, steps)
            key = Key(subscription, position)
            if payload is None:
                self._settlement.lose(None, key, waited=False)
            else:
                self._begin(queue, Delivery(key, payload, since=now))
        await asyncio.sleep(0)

    def _spill(self, planned: Planned) -> set[int]:
        """Let the ledger keep what is for queues that take nothing now; return the numbers of their subscriptions.

        A slice at a time: sinks that hang may be most of those that want an event, and they must cost next to nothing.
        """
        spilled: set[int] = set()
        for number, subscription in enumerate(planned.subscriptions):
            queue = self._queues.get(subscription)
            if queue is None or (reason := self._closed(queue)) is None:
                continue
            positions = planned.positions_of(number)
            if self._subscribers.wants_all(subscription, positions):
                self._settlement.part(queue)
                self._settlement.set_aside_all(queue, positions.tolist(), reason)
                spilled.add(number)
        return spilled

    def _closed(self, queue: SubscriptionQueue) -> str | None:
        """Return why a queue takes nothing now, whatever it is; None where each delivery has to be looked at."""
        state = queue.state
        if state.is_partitioned:  # where the ledger keeps it, it says of which order it is
            return None
        if state.is_ordered and self._queues.is_recovering:
            return _MAY_PRECEDE
        is_open = state.can_join if state.is_ordered and state.must_wait else self._has_room(queue)
        is_brisk = not state.is_ordered and queue.obstacle is None and queue.throughput.is_brisk
        return None if is_open or is_brisk else queue.obstacle or _FULL

    async def _wait_for(self, queue: SubscriptionQueue, steps: int) -> int:
        """Give a queue that is full and quick a moment: the detour through the ledger would be longer.

        Nobody waits for a slow one. Return how many steps are left for the next.
        """
        enough = queue.state.capacity // 4
        while steps and queue.throughput.is_brisk and queue.obstacle is None and queue.queued > enough:
            await asyncio.sleep(_STEP_SECONDS)
            steps -= 1
        return steps

    def _begin(self, queue: SubscriptionQueue | None, delivery: Delivery) -> None:
        if queue is None or not self._subscribers.wants(delivery.key):
            self._settlement.discard(queue, [delivery])
            return
        has_room = self._has_room(queue)
        if not has_room and queue.state.is_partitioned and queue.obstacle is None:
            self._settlement.park(queue)
            has_room = self._has_room(queue)
        spilled = self._queues.accept(queue, delivery, has_room=has_room)
        if spilled:
            is_early = queue.state.is_ordered and self._queues.is_recovering
            reason = _MAY_PRECEDE if is_early else queue.obstacle or _FULL
            self._settlement.set_aside(queue, spilled, reason)

    def _has_room(self, queue: SubscriptionQueue) -> bool:
        """Tell whether a queue takes what is new: half of a queue is for what waits, or that would wait for ever."""
        room = self._queues.room(queue)
        return room > 0 and (bool(queue.breaker.until) or queue.queued < max(1, queue.state.capacity // 2))
