"""What becomes of a delivery after an attempt: done, tried again, handed on to the next stage, or given up.

The law: a delivery is settled where it came from only when the ledger has all that is still to be done about it.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from typing import TYPE_CHECKING

from headrace.clock import CLOCK
from headrace.delivery.attempt.hops import answer_to, hops_left
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.stages import Failure, address_of, failure_of, stored_event
from headrace.delivery.settlement.backoff import wait_after
from headrace.events.bindings.http import encode_structured
from headrace.ledger.ledger import Burial, Key, Sheaf, Wait
from headrace.ledger.records.attempts import Attempt
from headrace.ledger.schedule import HELD
from headrace.ledger.stages import DEAD_LETTER, REPLY, SINK
from headrace.ledger.texts import storable
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

    from headrace.delivery.intake.progress import LaneProgress
    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.queue import Lane
    from headrace.delivery.queue.queues import Lanes
    from headrace.delivery.retry.schedule import Agenda
    from headrace.delivery.settings import DeliverySettings
    from headrace.delivery.settlement.counts import Counts
    from headrace.delivery.settlement.journal import Journal
    from headrace.delivery.settlement.reports import Reports
    from headrace.events.event import Event

_log = logging.getLogger(__name__)
_LOOPED = "no dead letter, since too many replies and dead letters led to it"
_ON_ITS_WAY = "it is on its way"
_LOST = "its event can't be read from the log any more"


class Settling:
    """For one event loop. `settled` hears of each delivery that the outbox or the replay needn't keep any more.

    `gone` hears of subscriptions whose sink wants nothing more, with the reason.
    """

    def __init__(
        self,
        journal: Journal,
        lanes: Lanes,
        agenda: Agenda,
        settings: DeliverySettings,
        reports: Reports,
        counts: Counts,
        progress: LaneProgress,
        settled: Callable[[Key], None],
        gone: Callable[[str, str], None],
    ) -> None:
        self._journal = journal
        self._lanes = lanes
        self._agenda = agenda
        self._settings = settings
        self._reports = reports
        self._counts = counts
        self._progress = progress
        self._settled = settled
        self._gone = gone

    def attempted(
        self, lane: Lane, deliveries: list[Delivery], outcome: Outcome, began: float, seconds: float
    ) -> None:
        """Take note of an attempt's outcome. Called by the lanes."""
        self._lanes.queued -= len(deliveries)
        if outcome.attempted:
            if outcome.verdict is not Verdict.DONE or self._settings.record_successes:
                self._record(deliveries, outcome, began, seconds)
            self._tell_breaker(lane, outcome)
        self._reports.note(lane, outcome)
        if outcome.verdict is Verdict.DONE:
            self._delivered(lane, deliveries, outcome)
        elif outcome.verdict is Verdict.AGAIN:
            self._failed(lane, deliveries, outcome)
        else:
            if outcome.verdict is Verdict.GONE and lane.stage == SINK:
                self._gone(lane.subscription.id, storable(outcome.reason))
            for delivery in deliveries:
                self._give_up(lane, delivery, outcome)
        self._refill(lane)

    # What else there is to settle

    def set_aside(self, lane: Lane, delivery: Delivery, reason: str) -> None:
        """Let the ledger keep what comes and its lane can't take now."""
        self._counts.spilled += 1
        lane.backlog = True
        self._wait(lane, delivery, max(CLOCK.time(), lane.breaker.until), reason, arrives=True)

    def set_aside_all(self, lane: Lane, positions: Sequence[int], reason: str) -> None:
        """Let the ledger keep events that come from the outbox, without an object for each."""
        self._counts.spilled += len(positions)
        lane.backlog = True
        self._keep(lane, positions, reason, arrives=True)

    def part(self, lane: Lane) -> None:
        """Let the ledger keep what was to join the lane: its turn is later."""
        joining, lane.joining = lane.joining, None
        for delivery in joining or ():
            self.set_aside(lane, delivery, "it waits for its turn")

    def spill(self, lane: Lane, reason: str) -> None:
        """Let the ledger keep what is queued, so that nothing is held up where it came from."""
        lane.spills += 1
        drained = lane.drain()
        self._lanes.queued -= len(drained)
        lane.backlog = lane.backlog or bool(drained)
        due = max(CLOCK.time(), lane.breaker.until)
        waited = [each for each in drained if each.waited]
        lane.taken.difference_update(each.key for each in waited)
        for delivery in waited:
            if delivery.since:  # the ledger may have it as held here
                self._wait(lane, delivery, max(due, delivery.due), reason)
        arrived = [each for each in drained if not each.waited]
        self._counts.spilled += len(arrived)
        self._keep(lane, [each.key.position for each in arrived if _is_as_it_came(each)], reason)
        for delivery in arrived:
            if not _is_as_it_came(delivery):
                self._wait(lane, delivery, due, reason)
        self._agenda.add(lane.place, due)

    def save(self, lane: Lane, deliveries: Iterable[Delivery]) -> None:
        """Let the ledger know of what stays in memory, under way or queued: no attempt is counted.

        It isn't due while it is here, or the ledger would be asked for it again and again.
        """
        for delivery in deliveries:
            self._stay(lane, delivery, HELD, _ON_ITS_WAY)

    def discard(self, lane: Lane | None, deliveries: Iterable[Delivery]) -> None:
        """Drop what nobody wants any more."""
        for delivery in deliveries:
            DISCARDED.inc()
            self.end(lane, delivery)

    def end(self, lane: Lane | None, delivery: Delivery) -> None:
        """A delivery needs nothing more."""
        if delivery.waited:
            self._journal.finish(delivery.key, self._untake(lane, delivery.key))
        else:
            self._settled(delivery.key)

    def lose(self, lane: Lane | None, key: Key, *, waited: bool) -> None:
        """Give up an event that can't be read any more; the routing has set its position aside, or will."""
        BURIED.inc()
        _log.error(
            "position %d can't be delivered to subscription %s: %s", key.position, key.subscription, _LOST
        )
        then = self._untake(lane, key) if waited else lambda: self._settled(key)
        if key.stage == DEAD_LETTER:
            self._journal.finish(key, _nothing)
            key = key._replace(stage=SINK)
        self._journal.bury(Burial(key, 0, time.time(), _LOST, b""), then)

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

    def _tell_breaker(self, lane: Lane, outcome: Outcome) -> None:
        if outcome.verdict is not Verdict.AGAIN:
            if lane.breaker.succeeded():
                lane.backlog = True  # what waited meanwhile
                self._agenda.wake(lane.place)
        elif lane.breaker.failed():
            BREAKERS_OPENED.inc()
            self.spill(lane, outcome.reason)

    def _delivered(self, lane: Lane, deliveries: list[Delivery], outcome: Outcome) -> None:
        lane.delivered += len(deliveries)
        if outcome.reply is not None and lane.stage == SINK:
            self._reply(lane, deliveries[0], outcome.reply)
            deliveries = deliveries[1:]
        for delivery in deliveries:
            self._counts.delivered(delivery)
            self.end(lane, delivery)

    def _reply(self, lane: Lane, delivery: Delivery, reply: Event) -> None:
        """Settle a delivery together with the sink's answer, which is to be delivered in its turn."""
        self._counts.delivered(delivery)
        if address_of(lane.subscription, lane.spec, REPLY) is None:
            REPLIES.labels("discarded").inc()
            self.end(lane, delivery)
            return
        answer = answer_to(delivery.parcel.recorded.event, reply)
        if answer is None:
            REPLIES.labels("looped").inc()
            _log.warning(
                "a reply to position %d of subscription %s is discarded: too many replies led to it",
                delivery.key.position, delivery.key.subscription,
            )  # fmt: skip
            self.end(lane, delivery)
            return
        REPLIES.labels("delivered").inc()
        wait = Wait(
            delivery.key._replace(stage=REPLY), 0, CLOCK.time(), "a reply", encode_structured(answer).body
        )
        self._hand_on(lane, delivery, wait)

    def _failed(self, lane: Lane, deliveries: list[Delivery], outcome: Outcome) -> None:
        """Try again those that may be; in an ordered lane they stay where they are."""
        again: list[Delivery] = []
        for delivery in deliveries:
            attempts = delivery.attempts + outcome.attempted
            if attempts > lane.spec.retry:
                self._give_up(lane, delivery, outcome)
            else:
                again.append(delivery._replace(attempts=attempts))
        if not again:
            return
        RETRIED.inc(len(again))
        due = CLOCK.time() + max(
            wait_after(outcome, each.attempts, lane.spec, self._settings) for each in again
        )
        stays = lane.is_ordered and lane.obstacle is None and not lane.breaker.until
        for delivery in again:
            if stays:
                self._stay(lane, delivery, due, outcome.reason)
            else:
                lane.backlog = lane.backlog or lane.is_ordered
                lane.spills += 1
                self._wait(lane, delivery, due, outcome.reason)
        if stays:
            self._lanes.queued += len(again)
            lane.put_back([each._replace(waited=True, due=due) for each in again])

    def _give_up(self, lane: Lane, delivery: Delivery, outcome: Outcome) -> None:
        delivery = delivery._replace(attempts=delivery.attempts + 1)
        if delivery.failure is not None:
            self._bury_dead_letter(lane, delivery, Failure.from_json(delivery.failure), outcome.reason)
            return
        dest = address_of(lane.subscription, lane.spec, lane.stage) or lane.subscription.sink
        ends_here = lane.spec.dead_letter_sink is None
        if not ends_here and not hops_left(delivery.parcel.recorded.event):
            outcome, ends_here = replace(outcome, reason=f"{outcome.reason}; {_LOOPED}"), True
        if ends_here:
            event = delivery.event or stored_event(delivery.parcel)
            self._bury(
                lane, delivery, Burial(delivery.key, delivery.attempts, time.time(), outcome.reason, event)
            )
            return
        DEAD_LETTERED.inc()
        is_in_log = delivery.event is None and not delivery.key.replay
        kept = None if is_in_log else (delivery.event or stored_event(delivery.parcel))
        failure = failure_of(delivery, outcome, dest).to_json()
        key = delivery.key._replace(stage=DEAD_LETTER)
        self._hand_on(lane, delivery, Wait(key, 0, CLOCK.time(), outcome.reason, kept, failure))

    def _bury_dead_letter(self, lane: Lane, delivery: Delivery, failure: Failure, reason: str) -> None:
        """Keep it as what it was: the delivery that failed, so that it can be taken up again there."""
        key = delivery.key._replace(stage=failure.stage)
        event = delivery.event or stored_event(delivery.parcel)
        told = f"{failure.reason}; and the dead-letter sink: {reason}"
        self._journal.finish(delivery.key, _nothing)
        self._bury(lane, delivery, Burial(key, failure.attempts, time.time(), told, event))

    def _bury(self, lane: Lane, delivery: Delivery, burial: Burial) -> None:
        BURIED.inc()
        _log.warning(
            "gave up delivering position %d to subscription %s after %d attempts: %s",
            burial.key.position, burial.key.subscription, burial.attempts, burial.reason,
        )  # fmt: skip
        self._journal.bury(burial, self._after(lane, delivery))

    # What is to be done once the ledger has it

    def _wait(
        self, lane: Lane, delivery: Delivery, due: float, reason: str, *, arrives: bool = False
    ) -> None:
        after = self._after(lane, delivery)
        lane.arriving += arrives
        lane.unwritten += not arrives

        def then() -> None:
            lane.arriving -= arrives
            lane.unwritten -= not arrives
            after()
            self._agenda.add(lane.place, due)

        self._journal.wait(
            Wait(delivery.key, delivery.attempts, due, reason, delivery.event, delivery.failure), then
        )

    def _keep(self, lane: Lane, positions: Sequence[int], reason: str, *, arrives: bool = False) -> None:
        """Do the same for events that are as they came from the outbox."""
        if not positions:
            return
        due, count = max(CLOCK.time(), lane.breaker.until), len(positions)
        lane.arriving += count * arrives
        lane.unwritten += count * (not arrives)

        def then() -> None:
            lane.arriving -= count * arrives
            lane.unwritten -= count * (not arrives)
            self._progress.settle_all(positions)
            self._agenda.add(lane.place, due)

        self._journal.keep(Sheaf(lane.subscription.id, positions, due, storable(reason)), then)

    def _stay(self, lane: Lane, delivery: Delivery, due: float, reason: str) -> None:
        """Let the ledger know of a delivery that stays in its lane: a head that failed, or what is on its way."""
        lane.taken.add(delivery.key)
        lane.unwritten += 1

        def then() -> None:
            lane.unwritten -= 1
            if not delivery.waited:
                self._settled(delivery.key)
            if delivery.key not in lane.taken:  # it has left the lane meanwhile
                self._agenda.add(lane.place, due)

        self._journal.wait(
            Wait(delivery.key, delivery.attempts, due, reason, delivery.event, delivery.failure), then
        )

    def _hand_on(self, lane: Lane, delivery: Delivery, wait: Wait) -> None:
        """Let a delivery end where it is and go on at another stage, in one commit."""
        if delivery.waited:
            self._journal.finish(delivery.key, _nothing)
        after = self._after(lane, delivery)

        def then() -> None:
            after()
            self._agenda.wake((wait.key.subscription, wait.key.stage))

        self._journal.wait(wait, then)

    def _after(self, lane: Lane, delivery: Delivery) -> Callable[[], None]:
        if delivery.waited:
            return self._untake(lane, delivery.key)
        return lambda: self._settled(delivery.key)

    def _untake(self, lane: Lane | None, key: Key) -> Callable[[], None]:
        if lane is None:
            return _nothing

        def then() -> None:
            lane.taken.discard(key)
            self._refill(lane)

        return then

    def _refill(self, lane: Lane) -> None:
        """Look for more in good time, before a lane with a backlog is empty."""
        if lane.backlog and lane.queued <= lane.capacity // 4:
            self._agenda.wake(lane.place)


def _is_as_it_came(delivery: Delivery) -> bool:
    """Tell whether a delivery is nothing but an event of the log for a sink, that was not attempted."""
    return not (delivery.attempts or delivery.waited or delivery.key.replay) and delivery.event is None


def _nothing() -> None:
    pass
