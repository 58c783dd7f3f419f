"""What becomes of a delivery after an attempt: done, tried again, handed on to the next stage, or given up.

The law: a delivery is settled where it came from only when the ledger has all that is still to be done about it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from headrace.clock import CLOCK
from headrace.delivery.attempt.hops import answer_to, hops_left
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.stages import Failure, address_of, failure_of, stored_event
from headrace.delivery.queue.state import Write
from headrace.delivery.settlement.backoff import wait_after
from headrace.delivery.step import PolledStep
from headrace.events.bindings.http import encode_structured
from headrace.ledger.ledger import GivenUp, Key, Wait, WaitBatch
from headrace.ledger.records.attempts import Attempt
from headrace.ledger.schedule import HELD
from headrace.ledger.stages import DEAD_LETTER, REPLY, SINK
from headrace.ledger.texts import storable
from headrace.telemetry.health import HEALTH
from headrace.telemetry.metrics import (
    BREAKERS_OPENED,
    BURIED,
    DEAD_LETTERED,
    DISCARDED,
    REPLIES,
    RETRIED,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.queue.queues import Occupancy
    from headrace.delivery.retry.schedule import RetrySchedule
    from headrace.delivery.settings import DeliverySettings
    from headrace.delivery.settlement.counts import Counts
    from headrace.delivery.settlement.journal import Journal
    from headrace.delivery.settlement.reports import Reports
    from headrace.events.event import Event

_log = logging.getLogger(__name__)
_COMMITS_WITHIN = 60.0
_LOOPED = "no dead letter, since too many replies and dead letters led to it"
_ON_ITS_WAY = "it is on its way"
_LOST = "its event can't be read from the log any more"


class Settlement(PolledStep):
    """Takes note of what became of deliveries; commits that every `flush_seconds`. For one event loop."""

    def __init__(
        self,
        journal: Journal,
        schedule: RetrySchedule,
        occupancy: Occupancy,
        settings: DeliverySettings,
        reports: Reports,
        counts: Counts,
        progress: DeliveryProgress,
    ) -> None:
        self._journal = journal
        self._schedule = schedule
        self._occupancy = occupancy
        self._settings = settings
        self._reports = reports
        self._counts = counts
        self._progress = progress

    @property
    def is_full(self) -> bool:
        """Whether so much waits to be committed that nothing more may begin."""
        return self._journal.is_full

    async def commit(self) -> None:
        """Let the ledger have all that was noted until now."""
        await self._journal.flush()

    async def poll(self) -> float:
        """Commit, and tell the metrics."""
        self._counts.tell()
        await self.commit()
        HEALTH.idle("ledger", "what came of attempts is committed", _COMMITS_WITHIN)
        return self._settings.flush_seconds

    async def commit_all(self) -> None:
        """Commit twice: what the first commit settled moves the cursor."""
        await self.poll()
        await self.poll()

    async def join(self) -> None:
        """Let the ledger have the rest."""
        await self.commit_all()

    def attempted(
        self,
        queue: SubscriptionQueue,
        deliveries: list[Delivery],
        outcome: Outcome,
        began: float,
        seconds: float,
    ) -> None:
        """Take note of an attempt's outcome. Called by the queues."""
        self._occupancy.queued -= len(deliveries)
        if outcome.attempted:
            if outcome.verdict is not Verdict.DONE or self._settings.record_successes:
                self._record(deliveries, outcome, began, seconds)
            self._tell_breaker(queue, outcome)
        self._reports.note(queue, outcome)
        if outcome.verdict is Verdict.DONE:
            self._delivered(queue, deliveries, outcome)
        elif outcome.verdict is Verdict.AGAIN:
            self._failed(queue, deliveries, outcome)
        else:
            for delivery in deliveries:
                self._give_up(queue, delivery, outcome)
        self._refill(queue)
        if queue.state.release(deliveries):
            self._schedule.wake(queue.id)

    # What else there is to settle

    def set_aside(self, queue: SubscriptionQueue, deliveries: Iterable[Delivery], reason: str) -> None:
        """Let the ledger keep what comes and its queue can't take now."""
        due = max(CLOCK.time(), queue.breaker.until)
        for delivery in deliveries:
            self._counts.spilled += 1
            why = Write.JOINS_PARKED if queue.state.is_parked(delivery) else Write.ARRIVES
            self._wait(queue, delivery, due, reason, why)

    def set_aside_all(self, queue: SubscriptionQueue, positions: Sequence[int], reason: str) -> None:
        """Let the ledger keep events that come from the outbox, without an object for each."""
        self._counts.spilled += len(positions)
        queue.state.expect_more()
        self._keep(queue, positions, reason, Write.ARRIVES)

    def part(self, queue: SubscriptionQueue) -> None:
        """Let the ledger keep what was to join the queue: its turn is later."""
        self.set_aside(queue, queue.state.part(), "it waits for its turn")

    def spill(self, queue: SubscriptionQueue, reason: str) -> None:
        """Let the ledger keep what is queued, so that nothing is held up where it came from."""
        drained = queue.state.spill()
        self._let_go(queue, drained, reason)
        queue.wake()
        self._schedule.add(queue.id, max(CLOCK.time(), queue.breaker.until))

    def drop(self, queue: SubscriptionQueue, which: Callable[[Delivery], bool] = lambda _: True) -> None:
        """Discard what is queued and nobody wants any more."""
        drained = queue.state.drain(which)
        self._occupancy.queued -= len(drained)
        self.discard(queue, drained)
        queue.wake()

    def park(self, queue: SubscriptionQueue) -> None:
        """Let the ledger keep what is queued behind failed heads, where others of the queue need the room."""
        self._let_go(queue, queue.state.park(), "it waits for what is ahead of it")

    def _let_go(self, queue: SubscriptionQueue, drained: list[Delivery], reason: str) -> None:
        self._occupancy.queued -= len(drained)
        self._counts.spilled += sum(not each.waited for each in drained)
        due, has_keys = max(CLOCK.time(), queue.breaker.until), queue.state.is_partitioned
        plain: list[int] = []
        for delivery in drained:
            if _is_as_it_came(delivery) and not has_keys:
                plain.append(delivery.key.position)
            # What waited is there; but maybe as held here, or without the key of its order.
            elif not delivery.waited or delivery.since or has_keys:
                self._wait(queue, delivery, max(due, delivery.due), reason, Write.LEAVES)
        self._keep(queue, plain, reason, Write.LEAVES)

    def save(self, queue: SubscriptionQueue, deliveries: Iterable[Delivery]) -> None:
        """Let the ledger know of what stays in memory, under way or queued: no attempt is counted.

        It isn't due while it is here, or the ledger would be asked for it again and again.
        """
        for delivery in deliveries:
            self._stay(queue, delivery, HELD, _ON_ITS_WAY)

    def discard(self, queue: SubscriptionQueue | None, deliveries: Iterable[Delivery]) -> None:
        """Drop what nobody wants any more."""
        for delivery in deliveries:
            DISCARDED.inc()
            self.end(queue, delivery)

    def discard_waiting(self, queue: SubscriptionQueue, key: Key) -> None:
        """Drop what waits in the ledger, is held for a queue, and nobody wants any more."""
        DISCARDED.inc()
        self._journal.finish(key, partial(queue.state.let_go, key))

    def end(self, queue: SubscriptionQueue | None, delivery: Delivery) -> None:
        """A delivery needs nothing more."""
        if delivery.waited:
            self._journal.finish(delivery.key, self._untake(queue, delivery.key))
        else:
            self._journal.settle(delivery.key)
            self._progress.settle(delivery.key)

    def lose(self, queue: SubscriptionQueue | None, key: Key, *, waited: bool) -> None:
        """Give up an event that can't be read any more; the routing has set its position aside, or will."""
        BURIED.inc()
        _log.error(
            "position %d can't be delivered to subscription %s: %s", key.position, key.subscription, _LOST
        )
        then = self._untake(queue, key) if waited else lambda: self._progress.settle(key)
        if key.stage == DEAD_LETTER:
            self._journal.finish(key, _nothing)
            key = key._replace(stage=SINK)
        self._journal.bury(GivenUp(key, 0, time.time(), _LOST, b""), then)

    # Outcomes

    def _record(self, deliveries: list[Delivery], outcome: Outcome, began: float, seconds: float) -> None:
        verdict = outcome.verdict.value
        for delivery in deliveries:
            subscription, position, replay, stage = delivery.key
            self._journal.record(
                Attempt(
                    subscription, position, replay, stage, delivery.attempts + 1, began, seconds,
                    verdict, outcome.status, outcome.reason, outcome.headers, outcome.body,
                )
            )  # fmt: skip

    def _tell_breaker(self, queue: SubscriptionQueue, outcome: Outcome) -> None:
        if outcome.verdict is not Verdict.AGAIN:
            if queue.breaker.succeeded():
                queue.state.expect_more()  # what waited meanwhile
                self._schedule.wake(queue.id)
        elif queue.breaker.failed():
            BREAKERS_OPENED.inc()
            self.spill(queue, outcome.reason)

    def _delivered(self, queue: SubscriptionQueue, deliveries: list[Delivery], outcome: Outcome) -> None:
        queue.throughput.delivered += len(deliveries)
        if outcome.reply is not None and queue.stage == SINK:
            self._reply(queue, deliveries[0], outcome.reply)
            deliveries = deliveries[1:]
        for delivery in deliveries:
            self._counts.delivered(delivery)
            self.end(queue, delivery)

    def _reply(self, queue: SubscriptionQueue, delivery: Delivery, reply: Event) -> None:
        """Settle a delivery together with the sink's answer, which is to be delivered in its turn."""
        self._counts.delivered(delivery)
        if address_of(queue.subscription, queue.spec, REPLY) is None:
            REPLIES.labels("discarded").inc()
            self.end(queue, delivery)
            return
        answer = answer_to(delivery.payload.recorded.event, reply)
        if answer is None:
            REPLIES.labels("looped").inc()
            _log.warning(
                "a reply to position %d of subscription %s is discarded: too many replies led to it",
                delivery.key.position, delivery.key.subscription,
            )  # fmt: skip
            self.end(queue, delivery)
            return
        REPLIES.labels("delivered").inc()
        wait = Wait(
            delivery.key._replace(stage=REPLY), 0, CLOCK.time(), "a reply", encode_structured(answer).body
        )
        self._hand_on(queue, delivery, wait)

    def _failed(self, queue: SubscriptionQueue, deliveries: list[Delivery], outcome: Outcome) -> None:
        """Try again those that may be; in an ordered queue they stay where they are."""
        again: list[Delivery] = []
        for delivery in deliveries:
            attempts = delivery.attempts + outcome.attempted
            if attempts > queue.spec.retry:
                self._give_up(queue, delivery, outcome)
            else:
                again.append(delivery._replace(attempts=attempts))
        if not again:
            return
        RETRIED.inc(len(again))
        due = CLOCK.time() + max(
            wait_after(outcome, each.attempts, queue.spec, self._settings) for each in again
        )
        if queue.state.is_ordered and queue.obstacle is None and not queue.breaker.until:
            for delivery in again:
                self._stay(queue, delivery, due, outcome.reason)
            self._occupancy.queued += len(again)
            queue.state.stay([each._replace(waited=True, due=due) for each in again])
            return
        queue.state.leave()
        for delivery in again:
            self._wait(queue, delivery, due, outcome.reason, Write.LEAVES)

    def _give_up(self, queue: SubscriptionQueue, delivery: Delivery, outcome: Outcome) -> None:
        delivery = delivery._replace(attempts=delivery.attempts + 1)
        if delivery.failure is not None:
            self._bury_dead_letter(queue, delivery, Failure.from_json(delivery.failure), outcome.reason)
            return
        dest = address_of(queue.subscription, queue.spec, queue.stage) or queue.subscription.sink
        ends_here = queue.spec.dead_letter_sink is None
        if not ends_here and not hops_left(delivery.payload.recorded.event):
            outcome, ends_here = replace(outcome, reason=f"{outcome.reason}; {_LOOPED}"), True
        if ends_here:
            event = delivery.event or stored_event(delivery.payload)
            self._bury(
                queue, delivery, GivenUp(delivery.key, delivery.attempts, time.time(), outcome.reason, event)
            )
            return
        DEAD_LETTERED.inc()
        is_in_log = delivery.event is None and not delivery.key.replay
        kept = None if is_in_log else (delivery.event or stored_event(delivery.payload))
        failure = failure_of(delivery, outcome, dest).to_json()
        key = delivery.key._replace(stage=DEAD_LETTER)
        self._hand_on(queue, delivery, Wait(key, 0, CLOCK.time(), outcome.reason, kept, failure))

    def _bury_dead_letter(
        self, queue: SubscriptionQueue, delivery: Delivery, failure: Failure, reason: str
    ) -> None:
        """Keep it as what it was: the delivery that failed, so that it can be taken up again there."""
        key = delivery.key._replace(stage=failure.stage)
        event = delivery.event or stored_event(delivery.payload)
        told = f"{failure.reason}; and the dead-letter sink: {reason}"
        self._journal.finish(delivery.key, _nothing)
        self._bury(queue, delivery, GivenUp(key, failure.attempts, time.time(), told, event))

    def _bury(self, queue: SubscriptionQueue, delivery: Delivery, burial: GivenUp) -> None:
        BURIED.inc()
        _log.warning(
            "gave up delivering position %d to subscription %s after %d attempts: %s",
            burial.key.position, burial.key.subscription, burial.attempts, burial.reason,
        )  # fmt: skip
        self._journal.bury(burial, self._after(queue, delivery))

    # What is to be done once the ledger has it

    def _wait(
        self, queue: SubscriptionQueue, delivery: Delivery, due: float, reason: str, why: Write
    ) -> None:
        after = self._after(queue, delivery)
        queue.state.writing(why)

        def then() -> None:
            queue.state.made_durable(why)
            after()
            self._schedule.add(queue.id, due)

        self._journal.wait(_waiting(queue, delivery, due, reason), then)

    def _keep(self, queue: SubscriptionQueue, positions: Sequence[int], reason: str, why: Write) -> None:
        """Do the same for events that are as they came from the outbox."""
        if not positions:
            return
        due, count = max(CLOCK.time(), queue.breaker.until), len(positions)
        queue.state.writing(why, count)

        def then() -> None:
            queue.state.made_durable(why, count)
            self._progress.log.settle_all(positions)
            self._schedule.add(queue.id, due)

        self._journal.keep(WaitBatch(queue.subscription.id, positions, due, storable(reason)), then)

    def _stay(self, queue: SubscriptionQueue, delivery: Delivery, due: float, reason: str) -> None:
        """Let the ledger know of a delivery that stays in its queue: a head that failed, or what is on its way."""
        queue.state.hold([delivery.key])
        queue.state.writing(Write.STAYS)

        def then() -> None:
            queue.state.made_durable(Write.STAYS)
            if not delivery.waited:
                self._progress.settle(delivery.key)
            if delivery.key not in queue.state.held:  # it has left the queue meanwhile
                self._schedule.add(queue.id, due)

        self._journal.wait(_waiting(queue, delivery, due, reason), then)

    def _hand_on(self, queue: SubscriptionQueue, delivery: Delivery, wait: Wait) -> None:
        """Let a delivery end where it is and go on at another stage, in one commit."""
        if delivery.waited:
            self._journal.finish(delivery.key, _nothing)
        after = self._after(queue, delivery)

        def then() -> None:
            after()
            self._schedule.wake((wait.key.subscription, wait.key.stage))

        self._journal.wait(wait, then)

    def _after(self, queue: SubscriptionQueue, delivery: Delivery) -> Callable[[], None]:
        if delivery.waited:
            return self._untake(queue, delivery.key)
        return lambda: self._progress.settle(delivery.key)

    def _untake(self, queue: SubscriptionQueue | None, key: Key) -> Callable[[], None]:
        if queue is None:
            return _nothing

        def then() -> None:
            queue.state.let_go(key)
            self._refill(queue)

        return then

    def _refill(self, queue: SubscriptionQueue) -> None:
        """Look for more in good time, before a queue with a backlog is empty."""
        if queue.state.backlog and queue.queued <= queue.state.capacity // 4:
            self._schedule.wake(queue.id)


def _waiting(queue: SubscriptionQueue, delivery: Delivery, due: float, reason: str) -> Wait:
    key, attempts, event, failure = delivery.key, delivery.attempts, delivery.event, delivery.failure
    return Wait(key, attempts, due, reason, event, failure, queue.state.order_key(delivery))


def _is_as_it_came(delivery: Delivery) -> bool:
    """Tell whether a delivery is nothing but an event of the log for a sink, that was not attempted."""
    return not (delivery.attempts or delivery.waited or delivery.key.replay) and delivery.event is None


def _nothing() -> None:
    pass
