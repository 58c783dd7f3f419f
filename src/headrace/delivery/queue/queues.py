"""The queues of all subscriptions: made when something is for them, dropped when they have been idle for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from headrace.delivery.queue.queue import SubscriptionQueue
from headrace.delivery.settlement.backoff import longest_wait
from headrace.ledger.stages import SINK, STAGES

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.specs import SpecOf
    from headrace.delivery.intake.subscribers import Subscribers
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import QueueContext
    from headrace.delivery.retry.schedule import RetrySchedule
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 60.0
_SWEEP_SECONDS = 10.0


class Occupancy:
    """How many deliveries are in the memory of all queues, what is under way included."""

    def __init__(self) -> None:
        self.queued = 0


class SubscriptionQueues:
    """For one event loop. A new queue that is ordered is put on the schedule: it has to look what the ledger holds."""

    def __init__(
        self,
        subscribers: Subscribers,
        spec_of: SpecOf,
        senders: Mapping[str, Sender],
        occupancy: Occupancy,
        schedule: RetrySchedule,
        context: QueueContext,
    ) -> None:
        # After a start the outbox may hold what comes before that which the ledger has: ordered queues have to wait.
        self.is_recovering = True
        self._subscribers = subscribers
        self._spec_of = spec_of
        self._senders = senders
        self._occupancy = occupancy
        self._schedule = schedule
        self._context = context
        self._queues: dict[str, dict[str, SubscriptionQueue]] = {stage: {} for stage in STAGES}
        self._busy: set[SubscriptionQueue] = set()  # all that are, and some that were
        self._unsupported: set[str] = set()
        self._is_closed = False

    def __iter__(self) -> Iterator[SubscriptionQueue]:
        return (queue for queues in self._queues.values() for queue in queues.values())

    def get(self, subscription_id: str, stage: str = SINK) -> SubscriptionQueue | None:
        """Return the queue of a subscription that is known."""
        queue = self._queues[stage].get(subscription_id)
        if queue is None and (subscription := self._subscribers.get(subscription_id)) is not None:
            queue = self._make(subscription, stage)
        return queue

    def find(self, subscription_id: str, stage: str = SINK) -> SubscriptionQueue | None:
        """Return the queue that is in use, if there is one."""
        return self._queues[stage].get(subscription_id)

    def existing(self, subscription_id: str) -> list[SubscriptionQueue]:
        """Return the queues of a subscription that are in use."""
        return [queues[subscription_id] for queues in self._queues.values() if subscription_id in queues]

    def room(self, queue: SubscriptionQueue) -> int:
        """Return how many more a queue takes: no more than all queues have left, so that a newcomer finds as much."""
        fair = max(1, self._context.settings.max_queued - self._occupancy.queued) - queue.queued
        return min(queue.room, fair)

    def accept(self, queue: SubscriptionQueue, delivery: Delivery, *, has_room: bool) -> list[Delivery]:
        """Let a queue take in what is new; return what has to go to the ledger instead."""
        before = len(queue.state)
        spilled = queue.state.accept(delivery, has_room=has_room, is_recovering=self.is_recovering)
        self._busy.add(queue)
        if len(queue.state) > before:
            self._occupancy.queued += 1
            queue.came()
        return spilled

    def take_up(self, queue: SubscriptionQueue, delivery: Delivery) -> None:
        """Queue what the ledger holds, or what has waited until that was known; look at `room` first."""
        self._occupancy.queued += 1
        self._busy.add(queue)
        queue.state.take_up(delivery)
        queue.came()

    def busy(self) -> list[SubscriptionQueue]:
        """Return those with anything in memory, also where their subscription has ended."""
        self._busy = {queue for queue in self._busy if queue.is_busy}
        return list(self._busy)

    def longest_wait(self, subscription_id: str) -> float:
        """Return how far ahead anything may be due: not at all for a subscription that isn't known."""
        subscription = self._subscribers.get(subscription_id)
        return (
            0.0 if subscription is None else longest_wait(self._spec_of(subscription), self._context.settings)
        )

    def follow(self, queue: SubscriptionQueue, subscription: Subscription) -> None:
        """Let a queue go on with a subscription that changed."""
        queue.follow(subscription, self._spec_of(subscription), self._sender(subscription, queue.stage))

    def drop(self, subscription_id: str) -> list[SubscriptionQueue]:
        """Take out the queues of a subscription that ended."""
        dropped = self.existing(subscription_id)
        for queue in dropped:
            del self._queues[queue.stage][subscription_id]
        return dropped

    async def forget_connections(self, subscription: Subscription) -> None:
        """Close what was opened for a subscription as it was: it has changed or ended."""
        if sender := self._senders.get(subscription.protocol):
            await sender.forget(subscription.id)

    async def poll(self) -> float:
        """End what takes too long. Drop queues that have been idle for a while, and what senders hold for them."""
        for queue in self.busy():
            queue.end_overdue()
        before = time.monotonic() - _IDLE_SECONDS
        for queue in [each for each in self if each.idle_since < before and each.is_idle]:
            del self._queues[queue.stage][queue.subscription.id]
            if queue.stage == SINK and queue.sender is not None:
                await queue.sender.forget(queue.subscription.id)
        return _SWEEP_SECONDS

    def close(self) -> None:
        """Begin nothing more."""
        self._is_closed = True
        for queue in self:
            queue.close()

    async def join(self) -> None:
        """Wait a while for the attempts under way; then end them: the ledger has them."""
        try:
            async with asyncio.timeout(self._context.settings.shutdown_seconds):
                await asyncio.gather(*(queue.finish() for queue in self.busy()))
        except TimeoutError:
            _log.warning("attempts still under way at the stop will be repeated at the next start")

    def _make(self, subscription: Subscription, stage: str) -> SubscriptionQueue:
        spec, sender = self._spec_of(subscription), self._sender(subscription, stage)
        queue = SubscriptionQueue(subscription, stage, spec, sender, self._context)
        self._queues[stage][subscription.id] = queue
        if self._is_closed:
            queue.close()
        if queue.state.is_ordered:
            queue.state.begin()
            self._schedule.wake(queue.id)
        return queue

    def _sender(self, subscription: Subscription, stage: str) -> Sender | None:
        if stage == SINK and subscription.is_pulled:
            return None
        protocol = subscription.protocol if stage == SINK else "HTTP"
        sender = self._senders.get(protocol)
        if sender is None and protocol not in self._unsupported:
            self._unsupported.add(protocol)
            _log.error(
                "this dispatcher can't deliver over %s: is its client library installed? Until then it waits",
                protocol,
            )
        return sender
