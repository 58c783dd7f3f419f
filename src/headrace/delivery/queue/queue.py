"""One subscription's deliveries at one stage: a bounded queue and a bounded number of attempts at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.stages import address_of, payload_of, sink_target
from headrace.delivery.attempt.target import Target
from headrace.delivery.queue.order import buffer_for, save
from headrace.delivery.queue.pace import Pace
from headrace.errors import CredentialUnusable, SecretsLocked
from headrace.ledger.stages import SINK
from headrace.subscriptions.delivery.spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Mapping

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.queue.breaker import Breaker
    from headrace.delivery.queue.delivery import Delivery
    from headrace.ledger.ledger import Key
    from headrace.secrets.credential import Plain, Token
    from headrace.subscriptions.delivery.spec import DeliverySpec
    from headrace.subscriptions.subscription import Subscription

    Authority = tuple[Plain | Token | None, tuple[str, ...], Mapping[str, Any]]
    """Credential, signing keys and settings: what a target is made of besides the subscription."""
    Settle = Callable[["SubscriptionQueue", list[Delivery], Outcome, float, float], None]

_log = logging.getLogger(__name__)
_OTHER_SETTINGS = {"mode": "binary", "method": "POST"}
_GRACE_SECONDS = 5.0
_BRISK = 500.0  # events a second
_MEASURE_SECONDS, _GUESS_SECONDS = 0.1, 1.0


class RunningAttempt(NamedTuple):
    """What a task attempts, and since when, by the monotonic clock. `save` changes the list in its queue_id."""

    deliveries: list[Delivery]
    began: float


class SubscriptionQueue:
    """Starts tasks while there is something to attempt and has none when idle. For one event loop.

    `taken` are the keys that the ledger holds and that are under way here. `backlog` says that the ledger holds more,
    as far as is known: in an ordered queue everything new has to go behind that.
    """

    def __init__(
        self,
        subscription: Subscription,
        stage: str,
        spec: DeliverySpec,
        sender: Sender | None,
        capacity: int,
        breaker: Breaker,
        credentials: Credentials,
        settle: Settle,
        fail: Callable[[BaseException], None],
    ) -> None:
        self.subscription = subscription
        self.stage = stage
        self.id = (subscription.id, stage)
        self.capacity = capacity
        self.breaker = breaker
        self.taken: set[Key] = set()
        self.backlog = False
        self.unwritten = 0  # what went from this queue to the journal, and isn't durable yet
        self.arriving = 0  # the same of what never was in the queue
        self.spills = 0  # how often something went back to the ledger that is ahead of what waits there
        # What comes while an ordered queue looks whether the ledger holds anything that is ahead of it.
        self.joining: list[Delivery] | None = None
        self.delivered = 0
        self._measured, self._measured_at, self._rate = 0, 0.0, 0.0
        self.idle_since = time.monotonic()
        self._credentials = credentials
        self._settle = settle
        self._fail = fail
        self._closed = False
        self._tasks: dict[asyncio.Task[None], RunningAttempt] = {}
        self._overdue: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._timer_at = 0.0
        self._ripe_at = 0.0
        self.follow(subscription, spec, sender)
        self._buffer = buffer_for(self.ordering, self._later)

    def follow(self, subscription: Subscription, spec: DeliverySpec, sender: Sender | None) -> None:
        """Go on with a subscription that changed. Drain it first where the ordering changes."""
        self.subscription, self.spec, self.sender = subscription, spec, sender
        is_sink = self.stage == SINK
        self.ordering = spec.ordering if is_sink else Ordering.UNORDERED
        self.is_ordered = self.ordering is not Ordering.UNORDERED
        self._is_pulled = is_sink and subscription.is_pulled
        settings = spec.settings(subscription.protocol, subscription.protocolsettings)
        self._batch = spec.batch(settings["mode"]) if is_sink and not self._is_pulled else 1
        self._pace = Pace(spec.rate) if is_sink and spec.rate is not None else None
        self._target: Target | None = None
        self._authority: Authority = (None, (), {})

    def reorder(self) -> None:
        """Take a buffer of the kind that the spec asks for now; what was in the old one has been drained.

        What is under way stays so, and what has the same order waits for it.
        """
        self._buffer = buffer_for(self.ordering, self._later)
        for attempt in self._tasks.values():
            self._buffer.hold(attempt.deliveries)

    @property
    def queued(self) -> int:
        """How many deliveries wait in memory."""
        return len(self._buffer)

    @property
    def is_brisk(self) -> bool:
        """Whether it has been acknowledging events quickly, as far as is known: look often, or it has to guess."""
        now = time.monotonic()
        seconds, count = now - self._measured_at, self.delivered - self._measured
        if seconds > _GUESS_SECONDS:
            self._rate = _BRISK if count else 0.0
        elif seconds > _MEASURE_SECONDS:
            self._rate = count / seconds
        if seconds > _MEASURE_SECONDS:
            self._measured_at, self._measured = now, self.delivered
        return self._rate >= _BRISK

    @property
    def must_wait(self) -> bool:
        """Whether what is new has to go behind something: the ledger's, or what waits to join."""
        return self.is_ordered and (self.backlog or self.joining is not None)

    @property
    def is_busy(self) -> bool:
        """Whether anything is under way, or waits in memory."""
        return bool(self._tasks or self._buffer or self.joining)

    @property
    def has_nothing_behind(self) -> bool:
        """Whether nothing but attempts under way could still go to the ledger."""
        return not (self._buffer or self.joining or self.unwritten or self.arriving)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be missed if the queue were dropped."""
        return not (
            self._tasks
            or self._buffer
            or self.taken
            or self.backlog
            or self.unwritten
            or self.arriving
            or self.joining
            or (self.breaker.until and self.sender is not None)
            or (self._pace is not None and self._pace.wait())
        )

    @property
    def is_active(self) -> bool:
        """Whether something is attempted, or waits on purpose: for its time, its pace, or a batch to fill."""
        return bool(self._tasks) or (
            bool(self._buffer) and (self._timer is not None or not self._buffer.is_ready)
        )

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
        if self._closed or self.obstacle is not None:
            return 0
        if self.breaker.until:
            return max(0, 1 - len(self._buffer) - len(self._tasks))
        return self.capacity - len(self._buffer)

    def put(self, delivery: Delivery) -> None:
        """Buffer a delivery; look at `room` first."""
        if not self._buffer:
            self._ripen()
        self._buffer.put(delivery)
        self.wake()

    def put_back(self, deliveries: list[Delivery]) -> None:
        """Put what was attempted in front of what is behind it, until it is due. Only while its outcome is settled."""
        self._buffer.put_back(deliveries)

    def drain(self, which: Callable[[Delivery], bool] = lambda _: True) -> list[Delivery]:
        """Take back what was not begun: all, or those that are asked for."""
        drained = self._buffer.drain(which)
        self.wake()
        return drained

    def save(self, before: float) -> list[Delivery]:
        """Mark as `waited` what is here, under way or not, and in memory alone since before a time.

        Return it as it was: the ledger has to be told of it.
        """
        saved = self._buffer.save(before)
        for attempt in self._tasks.values():
            saved += save(attempt.deliveries, before)
        return saved

    def close(self) -> None:
        """Begin nothing any more; what is queued stays where it is."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def end_overdue(self) -> None:
        """End attempts whose sender broke its promise to be in time: they would keep their queue_id for ever."""
        limit = time.monotonic() - self.spec.timeout - _GRACE_SECONDS
        for task, attempt in self._tasks.items():
            if attempt.began < limit and task not in self._overdue:
                self._overdue.add(task)
                task.cancel()

    async def finish(self) -> None:
        """Wait for the attempts under way."""
        await asyncio.gather(*self._tasks)

    def wake(self) -> None:
        """Start another task if there is something for it to do."""
        if self._closed or len(self._tasks) >= self.spec.concurrency or not self._buffer.is_ready:
            return
        if not self._is_ripe():
            self._wake_in(self._ripe_at - time.monotonic())
            return
        task = asyncio.create_task(self._work())
        self._tasks[task] = RunningAttempt([], time.monotonic())
        task.add_done_callback(self._ended)

    async def _work(self) -> None:
        task = asyncio.current_task()
        assert task is not None  # noqa: S101  it is one
        while deliveries := self._take():
            began, start = time.time(), time.monotonic()
            self._tasks[task] = RunningAttempt(deliveries, start)
            outcome = await self._attempt(deliveries)
            self._settle(self, deliveries, outcome, began, time.monotonic() - start)
            self._buffer.release(deliveries)
        # Now, not when the loop calls back: what is put in between would be left to a task that has ended.
        self._tasks.pop(task, None)
        self.idle_since = time.monotonic()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.pop(task, None)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _take(self) -> list[Delivery]:
        if self._closed or not self._buffer.is_ready or self.obstacle is not None:
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
        taken = self._buffer.take(most)
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
        target = await self._current_target()
        if target is None:
            return Outcome(Verdict.NEVER, f"the subscription has no address for stage {self.stage} now")
        outcome = await self.sender.send(target, [payload_of(each) for each in deliveries])
        if outcome.unauthorized and target.credential is not None:
            return self._after_refusal(target, outcome)
        return outcome

    def _after_refusal(self, target: Target, outcome: Outcome) -> Outcome:
        """A token that the sink doesn't accept may be replaced by a better one; our own is known in a moment."""
        if self._credentials.is_own(target.credential) or self._credentials.invalidate(self.subscription.id):
            return replace(outcome, verdict=Verdict.AGAIN)
        return outcome

    async def _current_target(self) -> Target | None:
        """Return the same one as long as nothing changes: it is needed for each attempt."""
        known, subscription = self._target, self.subscription
        if self.stage == SINK:
            credential = await self._credentials.current(subscription)
            credential = credential or self._credentials.for_local_channel(subscription, subscription.sink)
            signing = self._credentials.signing(subscription)
            settings = self._credentials.settings(subscription)
            authority = credential, signing, settings
            if known is None or any(
                new is not old for new, old in zip(authority, self._authority, strict=True)
            ):
                known, self._authority = sink_target(subscription, self.spec, *authority), authority
        elif (address := address_of(subscription, self.spec, self.stage)) is not None:
            own = self._credentials.for_local_channel(subscription, address)
            if known is None or known.credential is not own:
                known = Target(subscription.id, "HTTP", address, _OTHER_SETTINGS, self.spec.timeout, own)
        if subscription is self.subscription:
            self._target = known
        return known

    # Batches, paces and heads that wait wake the queue by timers: no task sleeps.

    def _is_ripe(self) -> bool:
        """Tell whether a batch is full, or old enough."""
        return self._batch == 1 or len(self._buffer) >= self._batch or time.monotonic() >= self._ripe_at

    def _ripen(self) -> None:
        if self._batch > 1:
            self._ripe_at = time.monotonic() + self.spec.batch_age

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

    def _later(self, seconds: float, order: Hashable) -> None:
        asyncio.get_running_loop().call_later(seconds, self._is_due, order)

    def _is_due(self, order: Hashable) -> None:
        self._buffer.is_due(order)
        self.wake()
