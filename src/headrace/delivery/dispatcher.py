"""The dispatcher: drains the outbox and the replays into queues, one per subscription, and keeps account of it all.

A delivery is in one of three places: in the outbox at or above the cursor, in the ledger waiting, or settled.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from headrace.delivery.attempt.outcome import Verdict
from headrace.delivery.attempt.specs import default_spec
from headrace.delivery.attempt.target import NoCredentials
from headrace.delivery.intake.kept import KeptAtStart
from headrace.delivery.intake.mailboxes import Mailboxes
from headrace.delivery.intake.outbox import OutboxSource
from headrace.delivery.intake.progress import DeliveryProgress
from headrace.delivery.intake.queue_intake import QueueIntake
from headrace.delivery.intake.replays import ReplayIntake, ReplaySource
from headrace.delivery.intake.standstill import Standstill
from headrace.delivery.intake.subscribers import Subscribers, SubscriptionChanges
from headrace.delivery.ledger_thread import LedgerThread
from headrace.delivery.queue.follower import QueueFollower
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
from headrace.delivery.step import run_steps
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.ledger.stages import SINK
from headrace.ledger.texts import storable
from headrace.subscriptions.delivery.spec import resolve

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.delivery.attempt.outcome import Outcome, Sender
    from headrace.delivery.attempt.specs import SpecOf
    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.settings import DeliverySettings
    from headrace.delivery.step import Step
    from headrace.eventlog.log import LogReader
    from headrace.eventlog.outbox import OutboxReader
    from headrace.eventlog.outbox_partitions import OutboxPartitions
    from headrace.events.positions import LogPosition
    from headrace.jobs.replays import Replays
    from headrace.ledger.ledger import Ledger
    from headrace.ledger.records.status import DeliveryReport
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.store.store import Store
    from headrace.subscriptions.subscription import Subscription

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
        self._senders = senders
        self._settings = settings
        self._credentials = credentials or NoCredentials()
        self._failure: asyncio.Future[None] | None = None
        self._ledger = LedgerThread(ledger)
        self._subscribers = Subscribers(store)
        self._changes = SubscriptionChanges(self._subscribers, self._ledger)
        self._progress = DeliveryProgress(ledger.cursor())
        self._events = EventSource(log, self._progress)
        self._occupancy = Occupancy()
        self._schedule = RetrySchedule(settings.flush_seconds)
        self._reports = Reports(self._ledger, report)
        self._journal = Journal(self._ledger, self._progress)
        self._settlement = Settlement(
            self._journal, self._schedule, self._occupancy, settings, self._reports, Counts(), self._progress
        )
        context = QueueContext(settings, self._credentials, self._attempted, self._fail)
        self._queues = SubscriptionQueues(
            self._subscribers, spec_of or self._spec_of, senders, self._occupancy, self._schedule, context
        )
        # Before the follower: a subscription that changed has no direct way to its mailbox until it is looked at again.
        self._mailboxes = Mailboxes(
            self._ledger, self._changes, self._queues, self._progress, settings.flush_seconds
        )
        self._follower = QueueFollower(
            self._changes, self._queues, self._schedule, self._settlement, self._credentials, self._ledger, on_gone
        )  # fmt: skip
        self._unsaved = Unsaved(self._queues, self._settlement, settings.memory_seconds)
        self._queue_intake = QueueIntake(
            self._events, self._changes, self._queues, self._settlement, self._progress, KeptAtStart(self._ledger)
        )  # fmt: skip
        replay_intake = ReplayIntake(self._changes, self._mailboxes, self._queues, self._settlement)
        self._outbox = OutboxSource(
            outbox, self._events, self._mailboxes, self._queue_intake, self._progress, settings.poll_seconds
        )
        self._replays = ReplaySource(
            replays, self._ledger, self._changes, replay_intake, self._progress, shares
        )
        self._retries = Retries(
            self._ledger, self._schedule, self._queues, self._events, self._changes, self._settlement
        )

    def settled(self) -> LogPosition:
        """Return the cut before which neither the outbox nor the log is needed by deliveries."""
        ledger = self._ledger.ledger
        # In this order: the cursor passes a delivery only after the ledger has it, so that it is seen in one of them.
        return ledger.needed_before(ledger.cursor())

    async def run(self, stop: asyncio.Event) -> None:
        """Deliver until `stop` is set, then let attempts under way finish. Nothing acknowledged is repeated then.

        An error in one step or queue ends them all at once, like a crash: the next start repeats what was not settled.
        """
        self._failure = asyncio.get_running_loop().create_future()
        await self._ledger.run(self._subscribers.refresh)
        await self._replays.refresh()  # before anything of them is taken up
        # From the sources to the ledger, which is the order in which they end.
        steps: list[Step] = [
            self._outbox,
            self._replays,
            self._retries,
            self._mailboxes,
            self._unsaved,
            self._queues,
            self._follower,
            self._reports,
            Standstill(self._progress, self._queues),
            self._settlement,
        ]
        async with asyncio.TaskGroup() as group:
            watching = group.create_task(self._watch())
            await run_steps(steps, stop)
            watching.cancel()
        await self._close()

    async def _watch(self) -> None:
        if self._failure is not None:
            await self._failure

    def _fail(self, error: BaseException) -> None:
        if self._failure is not None and not self._failure.done():
            self._failure.set_exception(error)

    def _spec_of(self, subscription: Subscription) -> DeliverySpec:
        of_channel = self._subscribers.of_channel(subscription)
        return resolve(subscription.delivery, of_channel, default_spec(self._settings))

    def _attempted(
        self,
        queue: SubscriptionQueue,
        deliveries: list[Delivery],
        outcome: Outcome,
        began: float,
        seconds: float,
    ) -> None:
        self._settlement.attempted(queue, deliveries, outcome, began, seconds)
        if outcome.verdict is Verdict.GONE and queue.stage == SINK:
            self._follower.end(queue.subscription.id, storable(outcome.reason))

    async def _close(self) -> None:
        for sender in self._senders.values():
            await sender.close()
        await self._credentials.close()
        self._ledger.close()
        self._events.close()
