"""All replays under way: one feed for each, started when its job hands out events and ended with it."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.delivery.intake.replay import ReplayFeed

if TYPE_CHECKING:
    from headrace.delivery.intake.mailboxes import Mailboxes
    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.intake.subscribers import SubscriptionChanges
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.settlement.settlement import Settlement
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.jobs.replays import Replay, Replays

_REFRESH_SECONDS = 0.25


class ReplayIntake:
    """Where events of replays go: into mailboxes, or queues. For one event loop.

    Live events have most of a queue; replays have a share of it, and nothing that the ledger must keep for them.
    """

    def __init__(
        self,
        changes: SubscriptionChanges,
        mailboxes: Mailboxes,
        queues: SubscriptionQueues,
        settlement: Settlement,
    ) -> None:
        self._subscribers = changes.subscribers
        self._mailboxes = mailboxes
        self._queues = queues
        self._settlement = settlement

    async def submit(self, delivery: Delivery) -> bool:
        """Take a delivery in; False where there is no room for it."""
        key = delivery.key
        if self._subscribers.get(key.subscription) is None:
            return False
        if not self._subscribers.wants(key):
            self._settlement.discard(None, [delivery])
            return True
        if self._subscribers.is_pulled(key.subscription):
            return await self._mailboxes.submit(key)
        queue = self._queues.get(key.subscription)
        if queue is None or queue.state.must_wait or self._queues.room(queue) <= 0:
            return False
        if queue.queued >= max(1, queue.state.capacity // 4):
            return False
        self._queues.take_up(queue, delivery)
        return True

    def end(self, replay: Replay) -> None:
        """Take back what was not begun of a replay that is over."""
        self._mailboxes.forget(replay.job)
        for queue in self._queues.existing(replay.subscription):
            self._settlement.drop(queue, lambda delivery: delivery.key.replay == replay.job)


class ReplaySource:
    """Starts and ends the feeds, as their jobs do. For one event loop."""

    def __init__(
        self,
        replays: Replays,
        ledger: LedgerThread,
        changes: SubscriptionChanges,
        intake: ReplayIntake,
        progress: DeliveryProgress,
        shares: OutboxPartitions,
    ) -> None:
        self._replays = replays
        self._ledger = ledger.ledger
        self._in_thread = ledger.run
        self._changes = changes
        self._intake = intake
        self._feeds = progress.replays
        self._shares = shares
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._is_closed = False

    async def refresh(self) -> None:
        """Find out which replays there are."""
        active = {
            replay.job: replay
            for replay in await self._in_thread(self._replays.active)
            if self._shares.holds(replay.subscription)
        }
        for gone in self._feeds.keys() - active.keys():
            await self._end(gone)
        for job, replay in active.items():
            await self._changes.learn([replay.subscription])
            if self._changes.subscribers.get(replay.subscription) is None:
                await self._in_thread(self._replays.cancel, job, "its subscription was deleted")
            elif job not in self._feeds:
                self._feeds[job] = await self._in_thread(ReplayFeed, replay, self._replays, self._ledger)
            elif await self._in_thread(self._feeds[job].report, replay):
                await self._end(job)

    async def poll(self) -> float:
        """Feed each replay that there is. What a feed fails of is raised here."""
        for task in self._tasks.values():
            if task.done() and not self._is_closed:
                task.result()
        await self.refresh()
        for job in self._feeds.keys() - self._tasks.keys():
            if not self._is_closed:
                self._tasks[job] = asyncio.create_task(self._feeds[job].run(self._intake))
        return _REFRESH_SECONDS

    def close(self) -> None:
        """Feed nothing more: what was not settled then goes out after the next start."""
        self._is_closed = True
        for task in self._tasks.values():
            task.cancel()

    async def join(self) -> None:
        """Wait until nothing is fed any more."""
        for job in list(self._tasks):
            await self._end_feeding(job)

    async def _end(self, job: str) -> None:
        await self._end_feeding(job)
        feed = self._feeds.pop(job)
        self._intake.end(feed.replay)
        await self._in_thread(self._ledger.forget_replay, job)
        await self._in_thread(self._replays.drop, job)

    async def _end_feeding(self, job: str) -> None:
        """Stop a feed; what it failed of is raised here."""
        if task := self._tasks.pop(job, None):
            task.cancel()
            await asyncio.wait([task])
            if not task.cancelled():
                task.result()
