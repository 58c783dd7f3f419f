"""The dispatcher: drains the outbox and the replays into queues, one per subscription, and keeps account of it all.

A delivery is in one of three places: in the outbox at or above the cursor, in the ledger waiting, or settled.
"""

from __future__ import annotations

import asyncio
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.attempt.target import NoCredentials
from headrace.delivery.intake.mailboxes import MailboxIntake
from headrace.delivery.intake.outbox import Intake
from headrace.delivery.intake.progress import PartitionProgress
from headrace.delivery.intake.replays import ReplayFeeds
from headrace.delivery.intake.standstill import Standstill
from headrace.delivery.intake.subscribers import Subscribers
from headrace.delivery.queue.queue import QueueContext
from headrace.delivery.queue.queues import Occupancy, SubscriptionQueues
from headrace.delivery.queue.unsaved import Unsaved
from headrace.delivery.retry.events import EventSource
from headrace.delivery.retry.retries import Retries
from headrace.delivery.retry.schedule import RetrySchedule
from headrace.delivery.settlement.counts import Counts
from headrace.delivery.settlement.journal import Journal
from headrace.delivery.settlement.reports import Reports
from headrace.delivery.settlement.settlement import Settlement
from headrace.errors import BrokerUnavailable, StoreUnavailable
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.ledger.stages import SINK
from headrace.subscriptions.delivery.spec import resolve
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping, Sequence

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.specs import SpecOf
    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.settings import DeliverySettings
    from headrace.eventlog.log import LogReader
    from headrace.eventlog.outbox import OutboxReader
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.events.positions import LogPosition
    from headrace.jobs.replays import Replay, Replays
    from headrace.ledger.ledger import Key, Ledger
    from headrace.ledger.records.status import DeliveryReport
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_REFRESH_SECONDS = 0.5
_SWEEP_SECONDS = 10.0
_REPORT_SECONDS = 5.0
_LOOK_SECONDS = 1.0
_COMMITS_WITHIN = 60.0
PARTS = ("intake", "deliveries", "ledger")
"""What a dispatcher reports of in the register of health."""


class Dispatcher:
    """One per outbox. Everything but the ledger's and the store's calls runs on one event loop.

    `spec_of` says how a subscription is delivered, and `credentials` what authorises that. `on_gone` is told, in a
    thread, of each subscription whose sink wants no more, with the reason, and `report` of how sinks fare.
    """

    def __init__(
        self,
        outbox: OutboxReader,
        log: LogReader,
        store: Store,
        ledger: Ledger,
        replays: Replays,
        senders: Mapping[str, Sender],
        settings: DeliverySettings,
        shares: OutboxPartitions = WHOLE_OUTBOX,
        *,
        spec_of: SpecOf | None = None,
        credentials: Credentials | None = None,
        on_gone: Callable[[str, str], object] = lambda _, __: None,
        report: Callable[[Sequence[DeliveryReport]], object] = lambda _: None,
    ) -> None:
        self._ledger = ledger
        self._senders = senders
        self._settings = settings
        self._on_gone = on_gone
        self._report_to = report
        self._credentials = credentials or NoCredentials()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="ledger")
        self._telling: set[asyncio.Task[None]] = set()
        self._failure: asyncio.Future[None] | None = None
        self._subscribers = Subscribers(store)
        self._progress = PartitionProgress(ledger.cursor())
        self._occupancy = Occupancy()
        self._replay_feeds = ReplayFeeds(
            replays, ledger, self._in_thread, self._put_replayed, self._is_known, self._end_replay, shares
        )
        self._journal = Journal(ledger, self._progress.settled, self._in_thread, self._replay_feeds.reach)
        self._schedule = RetrySchedule()
        self._reports = Reports()
        self._counts = Counts()
        self._settlement = Settlement(
            self._journal, self._schedule, self._occupancy, settings, self._reports, self._counts, self._progress,
            self._settled, self._end,
        )  # fmt: skip
        context = QueueContext(settings, self._credentials, self._settlement.attempted, self._fail)
        self._queues = SubscriptionQueues(
            self._subscribers, spec_of or self._spec_of, senders, self._occupancy, self._schedule, context
        )
        self._unsaved = Unsaved(self._queues, self._settlement, settings.memory_seconds)
        self._events = EventSource(log, self._replay_feeds.feed)
        self._mailboxes = MailboxIntake(
            ledger, self._subscribers, self._queues, self._settled, self._refresh, self._in_thread
        )
        self._intake = Intake(
            outbox, ledger, self._events, self._subscribers, self._queues, self._progress, self._journal,
            self._settlement, settings, self._mailboxes, self._refresh, self._in_thread,
        )  # fmt: skip
        self._retries = Retries(
            ledger, self._schedule, self._queues, self._events, self._subscribers, self._journal, self._settlement,
            self._mailboxes, self._refresh, self._in_thread,
        )  # fmt: skip

    def settled(self) -> LogPosition:
        """Return the cut before which neither the outbox nor the log is needed by deliveries."""
        # In this order: the cursor passes a delivery only after the ledger has it, so that it is seen in one of them.
        return self._ledger.needed_before(self._ledger.cursor())

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then let attempts under way finish. Nothing acknowledged is repeated then.

        An error in one loop or queue ends them all at once, like a crash: the next start repeats what was not settled.
        """
        self._failure = asyncio.get_running_loop().create_future()
        await self._in_thread(self._subscribers.refresh)
        await self._replay_feeds.refresh()  # before anything of them is taken up
        flush_seconds = self._settings.flush_seconds
        async with asyncio.TaskGroup() as loops:
            watching = loops.create_task(self._watch())
            closing = loops.create_task(self._close(stop))
            working = [
                loops.create_task(_unless_stopped(self._intake.run(self._progress.settled(), stop), stop)),
                loops.create_task(_repeat(self._flush, flush_seconds, stop)),
                loops.create_task(_repeat(self._unsaved.save_old, self._settings.memory_seconds / 4, stop)),
                loops.create_task(_repeat(self._mailboxes.flush, flush_seconds, stop)),
                loops.create_task(_unless_stopped(self._retries.run(flush_seconds, stop), stop)),
                loops.create_task(_repeat(self._refresh, _REFRESH_SECONDS, stop)),
                loops.create_task(_repeat(self._queues.sweep, _SWEEP_SECONDS, stop)),
                loops.create_task(self._replay_feeds.run(stop)),
                loops.create_task(_repeat(self._report, _REPORT_SECONDS, stop)),
                loops.create_task(
                    _repeat(Standstill(self._progress, self._queues).look, _LOOK_SECONDS, stop)
                ),
            ]
            await asyncio.gather(*working, closing)
            watching.cancel()
        await self._finish()

    async def _close(self, stop: asyncio.Event) -> None:
        await stop.wait()
        self._queues.close()
        self._events.stop_waiting()

    async def _watch(self) -> None:
        if self._failure is not None:
            await self._failure

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    # Subscriptions that come, change and go

    def _spec_of(self, subscription: Subscription) -> DeliverySpec:
        of_channel = self._subscribers.of_channel(subscription)
        return resolve(subscription.delivery, of_channel, default_spec(self._settings))

    async def _refresh(self) -> None:
        for changed, before in (await self._in_thread(self._subscribers.refresh)).items():
            now = self._subscribers.get(changed)
            self._mailboxes.leave_direct_way(changed)
            if now is None:
                for queue in self._queues.drop(changed):
                    queue.close()
                    self._settlement.discard(queue, queue.state.part())
                    self._drop(queue)
            else:
                for queue in self._queues.existing(changed):
                    self._follow(queue, now)
                if now.is_pulled:
                    self._schedule.wake((changed, SINK))
            if before is not None and _is_elsewhere(before, now) and before.protocol in self._senders:
                await self._senders[before.protocol].forget(changed)
            if now is None:
                self._credentials.forget(changed)

    def _follow(self, queue: SubscriptionQueue, subscription: Subscription) -> None:
        """Go on with a subscription that changed, in the same queue: it knows what is under way."""
        ordering = queue.state.ordering
        self._drop(queue, lambda delivery: not self._subscribers.wants(delivery.key))
        self._queues.follow(queue, subscription)
        if queue.obstacle is not None or queue.ordering is not ordering:
            self._settlement.part(queue)
            self._settlement.spill(queue, queue.obstacle or "the subscription's ordering changed")
        if queue.ordering is not ordering:
            queue.reorder()
        if queue.obstacle is None:
            queue.state.expect_more()
            self._schedule.wake(queue.id)

    def _drop(self, queue: SubscriptionQueue, which: Callable[[Delivery], bool] = lambda _: True) -> None:
        drained = queue.state.drain(which)
        self._occupancy.queued -= len(drained)
        self._settlement.discard(queue, drained)
        queue.wake()

    def _end(self, subscription_id: str, reason: str) -> None:
        """The sink wants nothing more: what is planned for it is dropped until the subscription changes."""
        if self._subscribers.end(subscription_id, reason):
            _log.warning("subscription %s has ended: %s", subscription_id, reason)
            for queue in self._queues.existing(subscription_id):
                self._drop(queue, lambda delivery: not self._subscribers.wants(delivery.key))
                self._schedule.wake(queue.id)
            task = asyncio.create_task(self._tell_gone(subscription_id, reason))
            self._telling.add(task)
            task.add_done_callback(self._telling.discard)

    async def _tell_gone(self, subscription_id: str, reason: str) -> None:
        try:
            await self._in_thread(self._on_gone, subscription_id, reason)
        except StoreUnavailable as error:
            _log.warning("that subscription %s has ended is told later: %s", subscription_id, error)
            self._subscribers.revive(subscription_id)

    async def _report(self) -> None:
        """Tell how sinks fare. What can't be written now is told by the next attempt."""
        if reports := self._reports.take():
            try:
                await self._in_thread(self._report_to, reports)
            except StoreUnavailable as error:
                _log.warning("how %d sinks fare is told later: %s", len(reports), error)

    # Replays

    async def _put_replayed(self, delivery: Delivery) -> None:
        await self._intake.put_replayed(delivery)

    async def _is_known(self, subscription: str) -> bool:
        if self._subscribers.get(subscription) is None:
            await self._refresh()
        return self._subscribers.get(subscription) is not None

    async def _end_replay(self, replay: Replay) -> None:
        """Take back what was not begun of a replay that is over."""
        self._mailboxes.forget(replay.job)
        for queue in self._queues.existing(replay.subscription):
            self._drop(queue, lambda delivery: delivery.key.replay == replay.job)

    def _settled(self, key: Key) -> None:
        if key.replay:
            self._replay_feeds.settle(key)
        else:
            self._progress.settle(key.position)

    # The end

    async def _flush(self) -> None:
        self._counts.tell()
        await self._journal.flush()
        HEALTH.idle("ledger", "what came of attempts is committed", _COMMITS_WITHIN)

    async def _settle(self) -> None:
        await self._flush()
        await self._flush()  # what the first commit settled moves the cursor

    async def _finish(self) -> None:
        """Let the ledger have everything, so that the cursor passes it, and then what comes of it in time."""
        self._queues.close()
        self._unsaved.save_all()
        await self._settle()
        await self._queues.finish(self._settings.shutdown_seconds)
        await self._settle()
        await asyncio.gather(*self._telling)
        for sender in self._senders.values():
            await sender.close()
        await self._credentials.close()
        self._thread.shutdown()
        self._events.close()

    async def _in_thread(self, call: Callable[..., Any], *arguments: Any) -> Any:
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *arguments)


def _is_elsewhere(before: Subscription, now: Subscription | None) -> bool:
    """Tell whether connections that were made for a subscription are of no more use."""
    if now is None:
        return True
    return (before.sink, before.protocol, before.protocolsettings, before.config) != (
        now.sink, now.protocol, now.protocolsettings, now.config
    )  # fmt: skip


async def _unless_stopped(work: Awaitable[None], stop: asyncio.Event) -> None:
    """Work; who stops while the brokers are away leaves what it was about to read for the next start."""
    try:
        await work
    except BrokerUnavailable as error:
        if not stop.is_set():
            raise
        _log.warning("what was to be read is read after the next start: %s", error)


async def _repeat(action: Callable[[], Awaitable[None]], seconds: float, stop: asyncio.Event) -> None:
    """Act every so many seconds, and once more at the stop: the reading may wait for it."""
    while not stop.is_set():
        with suppress(TimeoutError):
            await asyncio.wait_for(stop.wait(), seconds)
        await action()
