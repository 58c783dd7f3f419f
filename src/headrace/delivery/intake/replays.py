"""All replays under way: one feed for each, started when its job hands out events and ended with it."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.delivery.intake.replay import ReplayFeed
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from headrace.delivery.intake.progress import Reach
    from headrace.delivery.intake.replay import Put
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.jobs.replays import Replay, Replays
    from headrace.ledger.ledger import Key, Ledger

_REFRESH_SECONDS = 0.25


class ReplayFeeds:
    """For one event loop. `is_known` says whether a subscription exists; `on_end` hears of each replay that is over."""

    def __init__(
        self,
        replays: Replays,
        ledger: Ledger,
        in_thread: Callable[..., Awaitable[Any]],
        put: Put,
        is_known: Callable[[str], Awaitable[bool]],
        on_end: Callable[[Replay], Awaitable[None]],
        shares: OutboxPartitions = WHOLE_OUTBOX,
    ) -> None:
        self._replays = replays
        self._ledger = ledger
        self._in_thread = in_thread
        self._put = put
        self._is_known = is_known
        self._on_end = on_end
        self._shares = shares
        self._feeds: dict[str, ReplayFeed] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def feed(self, replay: str) -> ReplayFeed | None:
        """Return the feed of a replay that is under way."""
        return self._feeds.get(replay)

    def settle(self, key: Key) -> None:
        """Take note that a delivery is settled; one of a replay that is over makes no difference."""
        if feed := self._feeds.get(key.replay):
            feed.settle(key.position)

    def reach(self) -> Mapping[str, Reach]:
        """Return how far each replay is."""
        return {replay: feed.reach() for replay, feed in self._feeds.items()}

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
            if not await self._is_known(replay.subscription):
                await self._in_thread(self._replays.cancel, job, "its subscription was deleted")
            elif job not in self._feeds:
                self._feeds[job] = await self._in_thread(ReplayFeed, replay, self._replays, self._ledger)
            elif await self._in_thread(self._feeds[job].report, replay):
                await self._end(job)

    async def run(self, stop: asyncio.Event) -> None:
        """ReplayFeed the queues until `stop` is set; what was not settled then goes out after the next start."""
        async with asyncio.TaskGroup() as feeding:
            while not stop.is_set():
                await self.refresh()
                for job, feed in self._feeds.items():
                    if job not in self._tasks:
                        self._tasks[job] = feeding.create_task(feed.run(self._put))
                with suppress(TimeoutError):
                    await asyncio.wait_for(stop.wait(), _REFRESH_SECONDS)
            for task in self._tasks.values():
                task.cancel()

    async def _end(self, job: str) -> None:
        if task := self._tasks.pop(job, None):
            task.cancel()
            await asyncio.wait([task])
        feed = self._feeds.pop(job)
        await self._on_end(feed.replay)
        await self._in_thread(self._ledger.forget_replay, job)
        await self._in_thread(self._replays.drop, job)
