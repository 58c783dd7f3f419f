"""One subscription's deliveries: a bounded queue and a bounded number of attempts at a time."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from typing import TYPE_CHECKING, NamedTuple

from headrace.delivery.outcome import Outcome, Verdict
from headrace.delivery.target import Target

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.delivery.outcome import Sender
    from headrace.delivery.parcel import Parcel
    from headrace.ledger.ledger import Key
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)


class Delivery(NamedTuple):
    """An event for a subscription; `waited` says that the ledger holds it, `attempts` how many were made."""

    key: Key
    parcel: Parcel
    attempts: int = 0
    waited: bool = False


class Lane:
    """Starts a task per attempt under way and none when idle, so that 100,000 lanes cost only their queues."""

    def __init__(
        self,
        subscription: Subscription,
        sender: Sender,
        concurrency: int,
        capacity: int,
        timeout: float,
        settle: Callable[[Delivery, Outcome], None],
    ) -> None:
        self.subscription = subscription
        self._sender = sender
        self._concurrency = concurrency
        self._capacity = capacity
        self._timeout = timeout
        self._settle = settle
        self._queue: deque[Delivery] = deque()
        self._tasks: set[asyncio.Task[None]] = set()

    @property
    def queued(self) -> int:
        """How many deliveries wait in memory."""
        return len(self._queue)

    @property
    def room(self) -> int:
        """How many more the queue takes."""
        return self._capacity - len(self._queue)

    def put(self, delivery: Delivery) -> None:
        """Queue a delivery; look at `room` first."""
        self._queue.append(delivery)
        if len(self._tasks) < self._concurrency:
            task = asyncio.create_task(self._work())
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    def drain(self, which: Callable[[Delivery], bool] = lambda _: True) -> list[Delivery]:
        """Take back what was not begun: all, or those that are asked for."""
        drained = [each for each in self._queue if which(each)]
        self._queue = deque(each for each in self._queue if not which(each))
        return drained

    async def finish(self) -> None:
        """Wait for the attempts under way."""
        await asyncio.gather(*self._tasks)

    async def _work(self) -> None:
        while self._queue:
            delivery = self._queue.popleft()
            self._settle(delivery, await self._attempt(delivery))
        # Now, not when the loop calls back: what is put in between would be left to a task that has ended.
        self._tasks.discard(asyncio.current_task())

    def _target(self) -> Target:
        subscription = self.subscription
        return Target(
            subscription.id,
            subscription.protocol,
            subscription.sink,
            subscription.protocolsettings,
            self._timeout,
        )

    async def _attempt(self, delivery: Delivery) -> Outcome:
        """Senders promise to raise nothing; one that does must not take the delivery with it."""
        try:
            return await self._sender.send(self._target(), [delivery.parcel])
        except Exception as error:  # noqa: BLE001  logged, and tried again
            _log.exception("the sender of subscription %s failed", self.subscription.id)
            return Outcome(Verdict.AGAIN, f"{type(error).__name__}: {error}")
