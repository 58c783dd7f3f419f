"""The dispatcher: drains the outbox and the replays into lanes, one per subscription, and keeps account of it all.

A delivery is in one of three places: in the outbox at or above the cursor, in the ledger waiting, or settled.
What a full lane can't take goes to the ledger, so that a slow sink never holds up the reading for the others.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.delivery.backoff import wait_before
from headrace.delivery.journal import Journal
from headrace.delivery.lane import Delivery, Lane
from headrace.delivery.outcome import Outcome, Verdict
from headrace.delivery.parcel import read_parcels
from headrace.delivery.progress import LaneProgress
from headrace.delivery.replaying import Replaying
from headrace.delivery.subscribers import Subscribers
from headrace.eventlog.shares import UNSHARED
from headrace.events.bindings.http import encode_structured
from headrace.ledger.ledger import Burial, Key, Wait
from headrace.telemetry.metrics import BURIED, DELIVERED, DELIVERY_SECONDS, DISCARDED, REPLAYED, RETRIED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping

    import pyarrow as pa

    from headrace.delivery.outcome import Sender
    from headrace.delivery.parcel import Parcel
    from headrace.delivery.settings import DeliverySettings
    from headrace.eventlog.log import LogReader
    from headrace.eventlog.outbox import OutboxReader
    from headrace.eventlog.shares import Shares
    from headrace.events.positions import Cut
    from headrace.jobs.replays import Replay, Replays
    from headrace.ledger.ledger import Ledger
    from headrace.subscriptions.store import Store

_log = logging.getLogger(__name__)
_PAIRS_AT_A_TIME = 1000
_LOST = "its event can't be read from the log any more"
_REFRESH_SECONDS = 0.5
# An outbox that was still for this long is looked at half as often.
_IDLE_AFTER = 1.0


class Dispatcher:
    """One per outbox. Everything but the ledger's and the store's calls runs on one event loop."""

    def __init__(
        self,
        outbox: OutboxReader,
        log: LogReader,
        store: Store,
        ledger: Ledger,
        replays: Replays,
        senders: Mapping[str, Sender],
        settings: DeliverySettings,
        shares: Shares = UNSHARED,
    ) -> None:
        self._outbox = outbox
        self._log = log
        self._ledger = ledger
        self._senders = senders
        self._settings = settings
        self._subscribers = Subscribers(store)
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._reading = ThreadPoolExecutor(1, thread_name_prefix="log")
        self._progress = LaneProgress(ledger.cursor())
        self._replaying = Replaying(
            replays, ledger, self._in_thread, self._put_replayed, self._is_known, self._end_replay, shares
        )
        self._journal = Journal(ledger, self._progress.settled, self._in_thread, self._replaying.settled)
        self._lanes: dict[str, Lane] = {}
        self._queued = 0
        # What waits in the ledger and is under way here, by subscription.
        self._taken_up: defaultdict[str, set[Key]] = defaultdict(set)
        # What the ledger holds of positions that the outbox is read from again: not to be begun a second time.
        self._kept = ledger.kept_behind(self._progress.settled())
        self._next_due = ledger.next_due()

    def settled(self) -> Cut:
        """Return the cut before which neither the outbox nor the log is needed by deliveries."""
        # In this order: the cursor passes a delivery only after the ledger has it, so that it is seen in one of them.
        return self._ledger.needed_before(self._ledger.cursor())

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then let attempts under way finish.

        An error in one loop ends them all at once, like a crash: the next start repeats what was not settled.
        """
        await self._in_thread(self._subscribers.refresh)
        await self._replaying.refresh()  # before anything of them is taken up
        flush_seconds = self._settings.flush_seconds
        async with asyncio.TaskGroup() as loops:
            loops.create_task(self._feed(self._progress.settled(), stop))
            loops.create_task(_repeat(self._journal.flush, flush_seconds, stop))
            loops.create_task(_repeat(self._take_up_due, flush_seconds, stop))
            loops.create_task(_repeat(self._refresh, _REFRESH_SECONDS, stop))
            loops.create_task(self._replaying.run(stop))
        await self._finish()

    # Reading the outbox

    async def _feed(self, position: Cut, stop: asyncio.Event) -> None:
        last_read = time.monotonic()
        while not stop.is_set():
            began = position
            for end, pairs in self._outbox.read(position):
                for offset in range(0, pairs.num_rows, _PAIRS_AT_A_TIME):
                    await self._journal.room()
                    await self._plan(pairs.slice(offset, _PAIRS_AT_A_TIME))
                    if stop.is_set():
                        return
                self._progress.read_to(end)
                position = end
            if position != began:
                last_read = time.monotonic()
                continue
            is_idle = time.monotonic() - last_read > _IDLE_AFTER
            await asyncio.sleep(self._settings.poll_seconds * (2 if is_idle else 1))

    async def _plan(self, pairs: pa.Table) -> None:
        positions, subscriptions = pairs["position"].to_pylist(), pairs["subscription"].to_pylist()
        if any(self._subscribers.get(each) is None for each in set(subscriptions)):
            await self._refresh()
        parcels = await self._read_log(positions)
        for position, subscription in zip(positions, subscriptions, strict=True):
            key = Key(subscription, position)
            if key in self._kept:
                self._kept.discard(key)
            else:
                self._progress.begin(position)
                if parcel := parcels.get(position):
                    self._begin(Delivery(key, parcel))
                else:
                    self._lose(key, partial(self._settled, key))
        await asyncio.sleep(0)

    def _begin(self, delivery: Delivery) -> None:
        lane = self._lane(delivery.key.subscription)
        if lane is None or not self._subscribers.wants(delivery.key):
            DISCARDED.inc()
            self._settled(delivery.key)
        elif lane.room <= self._settings.queue_length // 2 or (lane.queued and self._is_full()):
            # Half of a queue is for what waits in the ledger, or it would wait as long as new events come.
            self._set_aside(delivery, 0.0, "the subscription's queue was full")
        else:
            self._put(lane, delivery)

    def _put(self, lane: Lane, delivery: Delivery) -> None:
        self._queued += 1
        lane.put(delivery)

    def _is_full(self) -> bool:
        return self._queued >= self._settings.max_queued

    # Taking up what waits

    async def _take_up_due(self) -> None:
        now = time.time()
        if self._next_due is None or self._next_due > now:
            return
        for subscription in await self._in_thread(self._ledger.subscriptions_due, now):
            await self._take_up(subscription, now)
        self._next_due = await self._in_thread(self._ledger.next_due)

    async def _take_up(self, subscription: str, now: float) -> None:
        lane = self._lane(subscription)
        if lane is None:
            DISCARDED.inc(await self._in_thread(self._ledger.forget, subscription))
            return
        if lane.room <= 0 or (lane.queued and self._is_full()):
            return
        under_way = self._taken_up[subscription]
        waits = await self._in_thread(self._ledger.due, subscription, now, lane.room, tuple(under_way))
        parcels = await self._parcels(wait.key for wait in waits)
        if self._lanes.get(subscription) is not lane:
            return  # it ended meanwhile, and what waits for it is forgotten at the next look
        under_way.update(wait.key for wait in waits)
        for wait in waits:
            parcel, is_wanted = parcels.get(wait.key), self._subscribers.wants(wait.key)
            if is_wanted and parcel is not None:
                self._put(lane, Delivery(wait.key, parcel, wait.attempts, waited=True))
            elif is_wanted and not wait.key.replay:
                self._lose(wait.key, partial(under_way.discard, wait.key))
            else:  # it waited for a replay that is over, or a seek went past it
                DISCARDED.inc()
                self._journal.finish(wait.key, partial(under_way.discard, wait.key))

    async def _parcels(self, keys: Iterable[Key]) -> dict[Key, Parcel]:
        """Read what waits: from the log, or from the replay it belongs to."""
        by_source = defaultdict(list)
        for key in keys:
            by_source[key.replay].append(key)
        found: dict[Key, Parcel] = {}
        for replay, wanted in by_source.items():
            positions = [key.position for key in wanted]
            if not replay:
                parcels = await self._read_log(positions)
            elif feed := self._replaying.feed(replay):
                parcels = await asyncio.to_thread(feed.parcels, positions)
            else:
                continue
            found |= {key: parcels[key.position] for key in wanted if key.position in parcels}
        return found

    # Replays

    async def _put_replayed(self, delivery: Delivery) -> None:
        """Wait for room: live events have most of the queue, and replays nothing that the ledger must keep for them."""
        share = max(1, self._settings.queue_length // 4)
        while True:
            lane = self._lane(delivery.key.subscription)
            if lane is not None and lane.queued < share and not (lane.queued and self._is_full()):
                self._put(lane, delivery)
                return
            await asyncio.sleep(self._settings.poll_seconds)

    async def _is_known(self, subscription: str) -> bool:
        if self._subscribers.get(subscription) is None:
            await self._refresh()
        return self._subscribers.get(subscription) is not None

    async def _end_replay(self, replay: Replay) -> None:
        """Take back what was not begun of a replay that is over."""
        if lane := self._lanes.get(replay.subscription):
            self._discard(lane.drain(lambda delivery: delivery.key.replay == replay.job))

    # Settling

    def _settle(self, delivery: Delivery, outcome: Outcome) -> None:
        """Take note of an attempt's outcome. Called by the lanes."""
        self._queued -= 1
        attempts = delivery.attempts + 1
        if outcome.verdict is Verdict.DONE:
            DELIVERED.inc()
            if delivery.key.replay:
                REPLAYED.inc()
            else:
                DELIVERY_SECONDS.observe(time.time() - delivery.parcel.recorded.publish_time / 1e6)
            self._done(delivery)
        elif outcome.verdict is Verdict.AGAIN and attempts <= self._settings.retries:
            RETRIED.inc()
            wait = wait_before(attempts, self._settings)
            self._set_aside(delivery._replace(attempts=attempts), wait, outcome.reason)
        else:
            self._bury(delivery._replace(attempts=attempts), outcome.reason)

    def _done(self, delivery: Delivery) -> None:
        if delivery.waited:
            self._journal.finish(delivery.key, self._after(delivery))
        else:
            self._settled(delivery.key)

    def _settled(self, key: Key) -> None:
        if key.replay:
            self._replaying.settle(key)
        else:
            self._progress.settle(key.position)

    def _set_aside(self, delivery: Delivery, seconds: float, reason: str) -> None:
        due = time.time() + seconds
        self._journal.wait(Wait(delivery.key, delivery.attempts, due, reason), self._after(delivery, due))

    def _bury(self, delivery: Delivery, reason: str) -> None:
        BURIED.inc()
        _log.warning(
            "gave up delivering position %d to subscription %s after %d attempts: %s",
            delivery.key.position, delivery.key.subscription, delivery.attempts, reason,
        )  # fmt: skip
        event = encode_structured(delivery.parcel.recorded.event).body
        burial = Burial(delivery.key, delivery.attempts, time.time(), reason, event)
        self._journal.bury(burial, self._after(delivery))

    def _lose(self, key: Key, then: Callable[[], None]) -> None:
        """Give up an event that can't be read any more; the routing has set its position aside, or will."""
        BURIED.inc()
        _log.error(
            "position %d can't be delivered to subscription %s: %s", key.position, key.subscription, _LOST
        )
        self._journal.bury(Burial(key, 0, time.time(), _LOST, b""), then)

    def _after(self, delivery: Delivery, due: float | None = None) -> Callable[[], None]:
        """Return what is to be done once the ledger holds the change."""

        def settle() -> None:
            if delivery.waited:
                self._taken_up[delivery.key.subscription].discard(delivery.key)
            else:
                self._settled(delivery.key)
            if due is not None:
                self._next_due = due if self._next_due is None else min(self._next_due, due)

        return settle

    # Lanes

    def _lane(self, subscription_id: str) -> Lane | None:
        lane = self._lanes.get(subscription_id)
        if lane is None:
            subscription = self._subscribers.get(subscription_id)
            if subscription is None:
                return None
            lane = self._lanes[subscription_id] = Lane(
                subscription,
                self._senders[subscription.protocol],
                self._settings.concurrency,
                self._settings.queue_length,
                self._settings.timeout_seconds,
                self._settle,
            )
        return lane

    async def _refresh(self) -> None:
        for changed in await self._in_thread(self._subscribers.refresh):
            subscription = self._subscribers.get(changed)
            if subscription is None:
                self._taken_up.pop(changed, None)
                lane = self._lanes.pop(changed, None)
            elif lane := self._lanes.get(changed):
                lane.subscription = subscription
            if lane is not None:
                self._discard(lane.drain(lambda delivery: not self._subscribers.wants(delivery.key)))

    def _discard(self, drained: list[Delivery]) -> None:
        for delivery in drained:
            self._queued -= 1
            DISCARDED.inc()
            self._done(delivery)

    async def _finish(self) -> None:
        lanes = list(self._lanes.values())
        for lane in lanes:
            lane.drain()  # still in the outbox or the ledger
        try:
            async with asyncio.timeout(self._settings.shutdown_seconds):
                await asyncio.gather(*(lane.finish() for lane in lanes))
        except TimeoutError:
            _log.warning("attempts still under way at the stop will be repeated at the next start")
        await self._journal.flush()
        await self._journal.flush()  # what the first commit settled moves the cursor
        for sender in self._senders.values():
            await sender.close()
        self._thread.shutdown()
        self._reading.shutdown()

    async def _read_log(self, positions: Iterable[int]) -> dict[int, Parcel]:
        """Read events; a log elsewhere takes its time, and deliveries go on meanwhile."""
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._reading, read_parcels, self._log, positions)

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


async def _repeat(action: Callable[[], Awaitable[None]], seconds: float, stop: asyncio.Event) -> None:
    """Act every so many seconds, and once more at the stop: the reading may wait for it."""
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
        await action()
