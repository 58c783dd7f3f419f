"""One subscription's deliveries at one stage: a bounded queue and a bounded number of attempts at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.stages import payload_of
from headrace.delivery.attempt.targets import CurrentTarget
from headrace.delivery.queue.breaker import Breaker
from headrace.delivery.queue.order import save
from headrace.delivery.queue.pace import Pace, Throughput
from headrace.delivery.queue.state import QueueState
from headrace.errors import CredentialUnusable, SecretsLocked
from headrace.ledger.stages import SINK
from headrace.subscriptions.delivery.spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.settings import DeliverySettings
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.subscription import Subscription

    Settle = Callable[["SubscriptionQueue", list[Delivery], Outcome, float, float], None]

_log = logging.getLogger(__name__)
_GRACE_SECONDS = 5.0


class RunningAttempt(NamedTuple):
    """What a task attempts, and since when, by the monotonic clock. `save` changes the list in its place."""

    deliveries: list[Delivery]
    began: float


class QueueContext(NamedTuple):
    """What all queues of a dispatcher share. `settle` hears of each outcome, `fail` of what must not happen."""

    settings: DeliverySettings
    credentials: Credentials
    settle: Settle
    fail: Callable[[BaseException], None]


class SubscriptionQueue:
    """Starts tasks while there is something to attempt and has none when idle. For one event loop.

    `state` says where its deliveries are; all that others do with them goes through it.
    """

    def __init__(
        self,
        subscription: Subscription,
        stage: str,
        spec: DeliverySpec,
        sender: Sender | None,
        context: QueueContext,
    ) -> None:
        self.stage = stage
        self.id = (subscription.id, stage)
        self.breaker = Breaker(context.settings)
        self.throughput = Throughput()
        self.idle_since = time.monotonic()
        self._context = context
        self._is_closed = False
        self._tasks: dict[asyncio.Task[None], RunningAttempt] = {}
        self._overdue: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._ripe_at = 0.0
        self.follow(subscription, spec, sender)
        self.state = QueueState(self.ordering, context.settings.queue_length)

    def follow(self, subscription: Subscription, spec: DeliverySpec, sender: Sender | None) -> None:
        """Go on with a subscription that changed. Spill it first where the ordering changes, and `reorder`."""
        self.subscription, self.spec, self.sender = subscription, spec, sender
        is_sink = self.stage == SINK
        self._is_pulled = is_sink and subscription.is_pulled
        settings = spec.settings(subscription.protocol, subscription.protocolsettings)
        self._batch = spec.batch(settings["mode"]) if is_sink and not self._is_pulled else 1
        self._pace = Pace(spec.rate) if is_sink and spec.rate is not None else None
        self._target = CurrentTarget(subscription, spec, self.stage, self._context.credentials)

    @property
    def ordering(self) -> Ordering:
        """What the subscription asks for at this stage."""
        return self.spec.ordering if self.stage == SINK else Ordering.UNORDERED

    def reorder(self) -> None:
        """Keep to the ordering that the spec asks for now; what was queued has been spilled."""
        self.state.reorder(self.ordering, (attempt.deliveries for attempt in self._tasks.values()))

    @property
    def queued(self) -> int:
        """How many deliveries wait in memory."""
        return len(self.state)

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way, or waits in memory."""
        return bool(self._tasks or self.state or self.state.joining)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be missed if the queue were dropped."""
        return not (
            self._tasks
            or not self.state.is_empty
            or (self.breaker.until and self.sender is not None)
            or (self._pace is not None and self._pace.wait())
        )

    @property
    def is_active(self) -> bool:
        """Whether something is attempted, or waits on purpose: for its time, its pace, or a batch to fill."""
        return bool(self._tasks) or (bool(self.state) and (self._timer is not None or not self._is_ready))

    @property
    def _is_ready(self) -> bool:
        return self.state.buffer.is_ready(CLOCK.time())

    @property
    def obstacle(self) -> str | None:
        """Why nothing may be attempted now, whatever comes."""
        if self.subscription.paused:
            return "the subscription is paused"
        if self._is_pulled:
            return "the subscription has no sink"
        if self.sender is None:
            return f"this dispatcher can't deliver over {self.subscription.protocol}"
        if self.breaker.is_open:
            return "the address failed too often in a row and is left alone for a while"
        return None

    @property
    def room(self) -> int:
        """How many more the queue takes; one in all while it is asked whether the address is back."""
        if self._is_closed or self.obstacle is not None:
            return 0
        if self.breaker.until:
            return max(0, 1 - len(self.state) - len(self._tasks))
        return self.state.capacity - len(self.state)

    def wake(self) -> None:
        """Start another task if there is something for it to do."""
        if self._is_closed or len(self._tasks) >= self.spec.concurrency or not self.state:
            return
        if not self._is_ready:
            self._wait_for_head()
            return
        if not self._is_ripe():
            self._wake_in(self._ripe_at - time.monotonic())
            return
        task = asyncio.create_task(self._work())
        self._tasks[task] = RunningAttempt([], time.monotonic())
        task.add_done_callback(self._ended)

    def came(self) -> None:
        """Something was queued."""
        if self._batch > 1 and len(self.state) == 1:
            self._ripen()
        self.wake()

    def save(self, before: float) -> list[Delivery]:
        """Mark as `waited` what is here, under way or not, and in memory alone since before a time.

        Return it as it was: the ledger has to be told of it.
        """
        saved = self.state.buffer.save(before)
        for attempt in self._tasks.values():
            saved += save(attempt.deliveries, before)
        return saved

    def close(self) -> None:
        """Begin nothing any more; what is queued stays where it is."""
        self._is_closed = True
        if self._timer is not None:
            self._timer.cancel()

    def end_overdue(self) -> None:
        """End attempts whose sender broke its promise to be in time: they would keep their place for ever."""
        limit = time.monotonic() - self.spec.timeout - _GRACE_SECONDS
        for task, attempt in self._tasks.items():
            if attempt.began < limit and task not in self._overdue:
                self._overdue.add(task)
                task.cancel()

    async def finish(self) -> None:
        """Wait for the attempts under way."""
        await asyncio.gather(*self._tasks)

    # Attempts

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  it is one
        while deliveries := self._take():
            began, start = time.time(), time.monotonic()
            self._tasks[task] = RunningAttempt(deliveries, start)
            outcome = await self._attempt(deliveries)
            self._context.settle(self, deliveries, outcome, began, time.monotonic() - start)
        # Now, not when the loop calls back: what is put in between would be left to a task that has ended.
        self._tasks.pop(task, None)
        self.idle_since = time.monotonic()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._context.fail(error)

    def _take(self) -> list[Delivery]:
        if self._is_closed or self.obstacle is not None:
            return []
        if not self._is_ready:
            self._wait_for_head()
            return []
        if not self._is_ripe():  # the timer that was set for it may have rung while all tasks were busy
            self._wake_in(self._ripe_at - time.monotonic())
            return []
        most = self._batch
        if self.breaker.until:
            if len(self._tasks) > 1:
                return []
            most = 1
        if self._pace is not None and (wait := self._pace.wait()):
            self._wake_in(wait)
            return []
        taken = self.state.take(most, CLOCK.time())
        if self._pace is not None:
            self._pace.take(len(taken))
        self._ripen()
        return taken

    async def _attempt(self, deliveries: list[Delivery]) -> Outcome:
        """Senders promise to raise nothing and to be in time; one that isn't must not take the delivery with it."""
        try:
            return await self._send(deliveries)
        except CredentialUnusable as error:
            return Outcome(Verdict.AGAIN, str(error), retry_after=error.retry_after, attempted=False)
        except SecretsLocked as error:
            return Outcome(Verdict.AGAIN, str(error), attempted=False)
        except asyncio.CancelledError:
            if (task := asyncio.current_task()) is None or task not in self._overdue:
                raise
            self._overdue.discard(task)
            task.uncancel()
            return Outcome(Verdict.AGAIN, f"nothing came of it within {self.spec.timeout:g} s")
        except Exception as error:  # noqa: BLE001  logged, and tried again
            _log.exception("an attempt for subscription %s failed", self.subscription.id)
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def _send(self, deliveries: list[Delivery]) -> Outcome:
        if self.sender is None:
            return Outcome(Verdict.AGAIN, f"this dispatcher can't deliver over {self.subscription.protocol}")
        source = self._target
        target = await source.get()
        if target is None:
            return Outcome(Verdict.NEVER, f"the subscription has no address for stage {self.stage} now")
        outcome = await self.sender.send(target, [payload_of(each) for each in deliveries])
        if outcome.unauthorized and source.can_improve(target):
            return replace(outcome, verdict=Verdict.AGAIN)
        return outcome

    # Batches, paces and heads that wait wake the queue by timers: no task sleeps.

    def _is_ripe(self) -> bool:
        """Tell whether a batch is full, or old enough."""
        return self._batch == 1 or len(self.state) >= self._batch or time.monotonic() >= self._ripe_at

    def _ripen(self) -> None:
        if self._batch > 1:
            self._ripe_at = time.monotonic() + self.spec.batch_age

    def _wait_for_head(self) -> None:
        if (due := self.state.buffer.next_due()) is not None:
            self._wake_in(due - CLOCK.time())

    def _wake_in(self, seconds: float) -> None:
        """Wake it then, or earlier where that is to happen already: whoever wakes it looks at everything."""
        loop = asyncio.get_running_loop()
        at = loop.time() + max(0.0, seconds)
        if self._timer is not None and self._timer_at <= at:
            return
        if self._timer is not None:
            self._timer.cancel()
        # uvloop's handles don't all know when they are due, and may be due a moment early.
        self._timer, self._timer_at = loop.call_at(at, self._ring), at

    def _ring(self) -> None:
        self._timer = None
        self.wake()
