"""Makes the queues follow their subscriptions, which come, change and go."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.delivery.step import PolledStep
from headrace.errors import StoreUnavailable
from headrace.ledger.stages import SINK

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.intake.subscribers import Changed, SubscriptionChanges
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.retry.schedule import RetrySchedule
    from headrace.delivery.settlement.settlement import Settlement
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_REFRESH_SECONDS = 0.5


class QueueFollower(PolledStep):
    """Looks for changes twice a second. For one event loop.

    `on_gone` is told of each subscription whose sink wants no more, with the reason; it may block.
    """

    def __init__(
        self,
        changes: SubscriptionChanges,
        queues: SubscriptionQueues,
        schedule: RetrySchedule,
        settlement: Settlement,
        credentials: Credentials,
        ledger: LedgerThread,
        on_gone: Callable[[str, str], object],
    ) -> None:
        self._changes = changes
        self._subscribers = changes.subscribers
        self._queues = queues
        self._schedule = schedule
        self._settlement = settlement
        self._credentials = credentials
        self._in_thread = ledger.run
        self._on_gone = on_gone
        self._telling: set[asyncio.Task[None]] = set()
        changes.follow(self._follow_all)

    async def poll(self) -> float:
        """Find out what changed."""
        await self._changes.refresh()
        return _REFRESH_SECONDS

    async def join(self) -> None:
        """Wait until those that ended are told."""
        await asyncio.gather(*self._telling)

    def end(self, subscription_id: str, reason: str) -> None:
        """The sink wants nothing more: what is planned for it is dropped until the subscription changes."""
        if self._subscribers.end(subscription_id, reason):
            _log.warning("subscription %s has ended: %s", subscription_id, reason)
            for queue in self._queues.existing(subscription_id):
                self._drop_unwanted(queue)
                self._schedule.wake(queue.id)
            task = asyncio.create_task(self._tell_gone(subscription_id, reason))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _follow_all(self, changed: Changed) -> None:
        for subscription_id, before in changed.items():
            now = self._subscribers.get(subscription_id)
            if now is None:
                self._drop_queues(subscription_id)
            else:
                for queue in self._queues.existing(subscription_id):
                    self._follow(queue, now)
                if now.is_pulled:
                    self._schedule.wake((subscription_id, SINK))
            if before is not None and _is_elsewhere(before, now):
                await self._queues.forget_connections(before)
            if now is None:
                self._credentials.forget(subscription_id)

    def _drop_queues(self, subscription_id: str) -> None:
        for queue in self._queues.drop(subscription_id):
            queue.close()
            self._settlement.discard(queue, queue.state.part())
            self._settlement.drop(queue)

    def _follow(self, queue: SubscriptionQueue, subscription: Subscription) -> None:
        """Go on with a subscription that changed, in the same queue: it knows what is under way."""
        ordering = queue.state.ordering
        self._drop_unwanted(queue)
        self._queues.follow(queue, subscription)
        if queue.obstacle is not None or queue.ordering is not ordering:
            self._settlement.part(queue)
            self._settlement.spill(queue, queue.obstacle or "the subscription's ordering changed")
        if queue.ordering is not ordering:
            queue.reorder()
        if queue.obstacle is None:
            queue.state.expect_more()
            self._schedule.wake(queue.id)

    def _drop_unwanted(self, queue: SubscriptionQueue) -> None:
        self._settlement.drop(queue, lambda delivery: not self._subscribers.wants(delivery.key))

    async def _tell_gone(self, subscription_id: str, reason: str) -> None:
        try:
            await self._in_thread(self._on_gone, subscription_id, reason)
        except StoreUnavailable as error:
            _log.warning("that subscription %s has ended is told later: %s", subscription_id, error)
            self._subscribers.revive(subscription_id)


def _is_elsewhere(before: Subscription, now: Subscription | None) -> bool:
    """Tell whether connections that were made for a subscription are of no more use."""
    if now is None:
        return True
    return (before.sink, before.protocol, before.protocolsettings, before.config) != (
        now.sink, now.protocol, now.protocolsettings, now.config
    )  # fmt: skip
