"""The lanes of all subscriptions: made when something is for them, dropped when they have been idle for a while."""

from __future__ import annotations

import asyncio
import logging
import time
from typing import TYPE_CHECKING

from headrace.delivery.queue.breaker import Breaker
from headrace.delivery.queue.queue import Lane
from headrace.delivery.settlement.backoff import longest_wait
from headrace.ledger.stages import SINK, STAGES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from headrace.delivery.attempt.outcome import Sender
    from headrace.delivery.attempt.specs import SpecOf
    from headrace.delivery.attempt.target import Credentials
    from headrace.delivery.intake.subscribers import Subscribers
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import Settle
    from headrace.delivery.settings import DeliverySettings
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_IDLE_SECONDS = 60.0


class Lanes:
    """For one event loop. `queued` counts what is in memory in all of them, what is under way included."""

    def __init__(
        self,
        subscribers: Subscribers,
        spec_of: SpecOf,
        senders: Mapping[str, Sender],
        credentials: Credentials,
        settings: DeliverySettings,
        fail: Callable[[BaseException], None],
    ) -> None:
        self.queued = 0
        # After a start the outbox may hold what comes before that which the ledger has: ordered lanes have to wait.
        self.is_recovering = True
        self.settle: Settle
        self.on_new: Callable[[Lane], None]
        self._subscribers = subscribers
        self._spec_of = spec_of
        self._senders = senders
        self._credentials = credentials
        self._settings = settings
        self._fail = fail
        self._lanes: dict[str, dict[str, Lane]] = {stage: {} for stage in STAGES}
        self._busy: set[Lane] = set()  # all that are, and some that were
        self._unsupported: set[str] = set()
        self._is_closed = False

    def __iter__(self) -> Iterator[Lane]:
        return (lane for lanes in self._lanes.values() for lane in lanes.values())

    def get(self, subscription_id: str, stage: str = SINK) -> Lane | None:
        """Return the lane of a subscription that is known."""
        lane = self._lanes[stage].get(subscription_id)
        if lane is None and (subscription := self._subscribers.get(subscription_id)) is not None:
            lane = self._make(subscription, stage)
        return lane

    def find(self, subscription_id: str, stage: str = SINK) -> Lane | None:
        """Return the lane that is in use, if there is one."""
        return self._lanes[stage].get(subscription_id)

    def existing(self, subscription_id: str) -> list[Lane]:
        """Return the lanes of a subscription that are in use."""
        return [lanes[subscription_id] for lanes in self._lanes.values() if subscription_id in lanes]

    def room(self, lane: Lane) -> int:
        """Return how many more a lane takes: no more than all lanes have left, so that a newcomer finds as much."""
        fair = max(1, self._settings.max_queued - self.queued) - lane.queued
        return min(lane.room, fair)

    def put(self, lane: Lane, delivery: Delivery) -> None:
        """Queue a delivery; look at `room` first."""
        self.queued += 1
        self._busy.add(lane)
        lane.put(delivery)

    def join(self, lane: Lane, delivery: Delivery) -> None:
        """Let a delivery wait until its lane knows whether the ledger holds anything that is ahead of it."""
        assert lane.joining is not None  # noqa: S101  the caller looked
        self._busy.add(lane)
        lane.joining.append(delivery)

    def busy(self) -> list[Lane]:
        """Return those with anything in memory, also where their subscription has ended."""
        self._busy = {lane for lane in self._busy if lane.is_busy}
        return list(self._busy)

    def longest_wait(self, subscription_id: str) -> float:
        """Return how far ahead anything may be due: not at all for a subscription that isn't known."""
        subscription = self._subscribers.get(subscription_id)
        return 0.0 if subscription is None else longest_wait(self._spec_of(subscription), self._settings)

    def follow(self, lane: Lane, subscription: Subscription) -> None:
        """Let a lane go on with a subscription that changed."""
        lane.follow(subscription, self._spec_of(subscription), self._sender(subscription, lane.stage))

    def drop(self, subscription_id: str) -> list[Lane]:
        """Take out the lanes of a subscription that ended."""
        dropped = self.existing(subscription_id)
        for lane in dropped:
            del self._lanes[lane.stage][subscription_id]
        return dropped

    async def sweep(self) -> None:
        """End what takes too long. Drop lanes that have been idle for a while, and what senders hold for them."""
        for lane in self.busy():
            lane.end_overdue()
        before = time.monotonic() - _IDLE_SECONDS
        for lane in [each for each in self if each.idle_since < before and each.is_idle]:
            del self._lanes[lane.stage][lane.subscription.id]
            if lane.stage == SINK and lane.sender is not None:
                await lane.sender.forget(lane.subscription.id)

    def close(self) -> None:
        """Begin nothing more."""
        self._is_closed = True
        for lane in self:
            lane.close()

    async def finish(self, seconds: float) -> None:
        """Wait so long for the attempts under way, after `close`; then end them: the ledger has them."""
        try:
            async with asyncio.timeout(seconds):
                await asyncio.gather(*(lane.finish() for lane in self.busy()))
        except TimeoutError:
            _log.warning("attempts still under way at the stop will be repeated at the next start")

    def _make(self, subscription: Subscription, stage: str) -> Lane:
        lane = self._lanes[stage][subscription.id] = Lane(
            subscription,
            stage,
            self._spec_of(subscription),
            self._sender(subscription, stage),
            self._settings.queue_length,
            Breaker(self._settings),
            self._credentials,
            self.settle,
            self._fail,
        )
        if self._is_closed:
            lane.close()
        self.on_new(lane)
        return lane

    def _sender(self, subscription: Subscription, stage: str) -> Sender | None:
        if stage == SINK and subscription.is_pulled:
            return None
        protocol = subscription.protocol if stage == SINK else "HTTP"
        sender = self._senders.get(protocol)
        if sender is None and protocol not in self._unsupported:
            self._unsupported.add(protocol)
            _log.error(
                "this dispatcher can't deliver over %s: is its client library installed? Until then it waits",
                protocol,
            )
        return sender
