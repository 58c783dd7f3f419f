"""One subscription's deliveries at one stage: a bounded queue and a bounded number of attempts at a time."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from headrace.delivery.outcome import Outcome, Verdict
from headrace.delivery.pace import Pace
from headrace.delivery.queues import queue_for
from headrace.delivery.stages import address_of, parcel_of
from headrace.delivery.target import Target
from headrace.ledger.stages import SINK
from headrace.subscriptions.delivery_spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable

    from headrace.delivery.breaker import Breaker
    from headrace.delivery.delivery import Delivery
    from headrace.delivery.outcome import Sender
    from headrace.delivery.target import Credentials
    from headrace.ledger.ledger import Key
    from headrace.subscriptions.delivery_spec import DeliverySpec
    from headrace.subscriptions.subscription import Subscription

    Settle = Callable[["Lane", list[Delivery], Outcome, float, float], None]

_log = logging.getLogger(__name__)
_OTHER_SETTINGS = {"mode": "binary", "method": "POST"}
_GRACE_SECONDS = 5.0


class Lane:
    """Starts tasks while there is something to attempt and has none when idle. For one event loop.

    `taken` are the keys that the ledger holds and that are under way here. `backlog` says that the ledger holds more,
    as far as is known: in an ordered lane everything new has to go behind that.
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
        self.place = (subscription.id, stage)
        self.capacity = capacity
        self.breaker = breaker
        self.taken: set[Key] = set()
        self.backlog = False
        self.unwritten = 0  # what went from this lane to the journal, and isn't durable yet
        self.arriving = 0  # the same of what never was in the lane
        self.joining: list[Delivery] | None = None
        self.settled = 0
        self.idle_since = time.monotonic()
        self._credentials = credentials
        self._settle = settle
        self._fail = fail
        self._closed = False
        self._tasks: set[asyncio.Task[None]] = set()
        self._timer: asyncio.TimerHandle | None = None
        self._ripe_at = 0.0
        self.follow(subscription, spec, sender)
        self._queue = queue_for(self.ordering, self._later)

    def follow(self, subscription: Subscription, spec: DeliverySpec, sender: Sender | None) -> None:
        """Go on with a subscription that changed. Drain it first where the ordering changes."""
        self.subscription, self.spec, self.sender = subscription, spec, sender
        is_sink = self.stage == SINK
        self.ordering = spec.ordering if is_sink else Ordering.UNORDERED
        self.is_ordered = self.ordering is not Ordering.UNORDERED
        is_batched = is_sink and subscription.protocolsettings.get("mode") == "batched"
        self._batch = spec.batch_size if is_batched else 1
        self._pace = Pace(spec.rate) if is_sink and spec.rate is not None else None
        self._target: Target | None = None

    def reorder(self) -> None:
        """Take a queue of the kind that the spec asks for now; what was in the old one has been drained."""
        self._queue = queue_for(self.ordering, self._later)

    @property
    def queued(self) -> int:
        """How many deliveries wait in memory."""
        return len(self._queue)

    @property
    def is_idle(self) -> bool:
        """Whether nothing would be missed if the lane were dropped."""
        return not (
            self._tasks
            or self._queue
            or self.taken
            or self.backlog
            or self.unwritten
            or self.arriving
            or self.joining
            or self.breaker.until
            or (self._pace is not None and self._pace.wait())
        )

    @property
    def obstacle(self) -> str | None:
        """Why nothing may be attempted now, whatever comes."""
        if self.subscription.paused:
            return "the subscription is paused"
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
            return max(0, 1 - len(self._queue) - len(self._tasks))
        return self.capacity - len(self._queue)

    def put(self, delivery: Delivery) -> None:
        """Queue a delivery; look at `room` first."""
        if not self._queue:
            self._ripen()
        self._queue.put(delivery)
        self.wake()

    def put_back(self, deliveries: list[Delivery]) -> None:
        """Put what was attempted in front of what is behind it, until it is due. Only while its outcome is settled."""
        self._queue.put_back(deliveries)

    def drain(self, which: Callable[[Delivery], bool] = lambda _: True) -> list[Delivery]:
        """Take back what was not begun: all, or those that are asked for."""
        return self._queue.drain(which)

    def close(self) -> None:
        """Begin nothing any more."""
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    async def finish(self) -> None:
        """Wait for the attempts under way."""
        await asyncio.gather(*self._tasks)

    def wake(self) -> None:
        """Start another task if there is something for it to do."""
        self._timer = None if self._timer is not None and self._timer.when() <= _now() else self._timer
        if len(self._tasks) >= self.spec.concurrency or not self._queue.is_ready:
            return
        if not self._is_ripe():
            self._wake_in(self._ripe_at - time.monotonic())
            return
        task = asyncio.create_task(self._work())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    async def _work(self) -> None:
        while deliveries := self._take():
            began, start = time.time(), time.perf_counter()
            outcome = await self._attempt(deliveries)
            self.settled += len(deliveries)
            self._settle(self, deliveries, outcome, began, time.perf_counter() - start)
            self._queue.release(deliveries)
        # Now, not when the loop calls back: what is put in between would be left to a task that has ended.
        self._tasks.discard(asyncio.current_task())
        self.idle_since = time.monotonic()

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._fail(error)

    def _take(self) -> list[Delivery]:
        if self._closed or not self._queue.is_ready or not self._is_ripe() or self.obstacle is not None:
            return []
        most = self._batch
        if self.breaker.until:
            if len(self._tasks) > 1:
                return []
            most = 1
        if self._pace is not None and (wait := self._pace.wait()):
            self._wake_in(wait)
            return []
        taken = self._queue.take(most)
        if self._pace is not None:
            self._pace.take(len(taken))
        self._ripen()
        return taken

    async def _attempt(self, deliveries: list[Delivery]) -> Outcome:
        """Senders promise to raise nothing and to be in time; one that isn't must not take the delivery with it."""
        sender = self.sender
        if sender is None:
            return Outcome(Verdict.AGAIN, f"this dispatcher can't deliver over {self.subscription.protocol}")
        try:
            target = await self._current_target()
            if target is None:
                return Outcome(Verdict.NEVER, f"the subscription has no address for stage {self.stage} now")
            parcels = [parcel_of(each) for each in deliveries]
            async with asyncio.timeout(target.timeout + _GRACE_SECONDS):
                return await sender.send(target, parcels)
        except TimeoutError:
            return Outcome(Verdict.AGAIN, f"no answer within {self.spec.timeout:g} s")
        except Exception as error:  # noqa: BLE001  logged, and tried again
            _log.exception("an attempt for subscription %s failed", self.subscription.id)
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")

    async def _current_target(self) -> Target | None:
        """Return the same one as long as nothing changes: it is needed for each attempt."""
        known, subscription, timeout = self._target, self.subscription, self.spec.timeout
        if self.stage == SINK:
            credential = await self._credentials.current(subscription)
            signing = self._credentials.signing(subscription)
            if known is None or known.credential is not credential or known.signing != signing:
                settings = subscription.protocolsettings
                sink = subscription.sink
                known = Target(
                    subscription.id, subscription.protocol, sink, settings, timeout, credential, signing
                )
        elif known is None and (address := address_of(subscription, self.spec, self.stage)) is not None:
            known = Target(subscription.id, "HTTP", address, _OTHER_SETTINGS, timeout)
        if subscription is self.subscription:
            self._target = known
        return known

    # Batches, paces and heads that wait wake the lane by timers: no task sleeps.

    def _is_ripe(self) -> bool:
        """Tell whether a batch is full, or old enough."""
        return self._batch == 1 or len(self._queue) >= self._batch or time.monotonic() >= self._ripe_at

    def _ripen(self) -> None:
        if self._batch > 1:
            self._ripe_at = time.monotonic() + self.spec.batch_age

    def _wake_in(self, seconds: float) -> None:
        """Wake it then, or earlier where that is to happen already: whoever wakes it looks at everything."""
        if self._timer is None or self._timer.when() > _now() + seconds:
            self._timer = asyncio.get_running_loop().call_later(max(0.0, seconds), self.wake)

    def _later(self, seconds: float, order: Hashable) -> None:
        asyncio.get_running_loop().call_later(seconds, self._is_due, order)

    def _is_due(self, order: Hashable) -> None:
        self._queue.is_due(order)
        self.wake()


def _now() -> float:
    return asyncio.get_running_loop().time()
