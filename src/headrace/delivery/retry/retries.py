"""Taking up what waits in the ledger: when it is due, or in order, as far as its queue has room.

Memory stays bounded whatever waits: a look takes no more rows than a queue may hold.
"""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from headrace.clock import CLOCK
from headrace.delivery.queue.delivery import Delivery
from headrace.delivery.queue.state import order_key
from headrace.delivery.step import PolledStep
from headrace.events.positions import partition_of
from headrace.ledger.schedule import HELD
from headrace.ledger.stages import SINK
from headrace.telemetry.metrics import DISCARDED

if TYPE_CHECKING:
    from headrace.delivery.attempt.payload import Payload
    from headrace.delivery.intake.subscribers import SubscriptionChanges
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.retry.events import EventSource
    from headrace.delivery.retry.schedule import QueueId, RetrySchedule
    from headrace.delivery.settlement.settlement import Settlement
    from headrace.ledger.ledger import Key, Wait

_LOOK_SECONDS = 1.0
_LATER_SECONDS = 1.0
_SOON_SECONDS = 0.02
_MOVED_AT_A_TIME = 1000
# The look at all that waits may take this part of the time.
_PART_FOR_LOOKS = 0.05
# One that was slow because the machine was must not keep others' deliveries waiting for minutes.
_LATEST_LOOK_SECONDS = 30.0


class Retries(PolledStep):
    """For one event loop."""

    def __init__(
        self,
        ledger: LedgerThread,
        schedule: RetrySchedule,
        queues: SubscriptionQueues,
        events: EventSource,
        changes: SubscriptionChanges,
        settlement: Settlement,
    ) -> None:
        self._ledger = ledger.ledger
        self._in_thread = ledger.run
        self._schedule = schedule
        self._queues = queues
        self._events = events
        self._subscribers = changes.subscribers
        self._refresh = changes.refresh
        self._settlement = settlement
        self._look_at: float | None = None
        self._is_closed = False

    async def poll(self) -> float:
        """Take up what is due, or what somebody asks for at once."""
        if self._is_closed:
            return _LOOK_SECONDS
        await self._take_up_all()
        await self._schedule.wait()
        return 0.0

    async def _take_up_all(self) -> None:
        if self._look_at is None:
            await self._bring_forward()
            self._look_at = time.monotonic()
        if time.monotonic() >= self._look_at:
            self._look_at = await self._look()
        for queue_id in self._schedule.take_due():
            if self._is_closed:
                return
            await self._take_up(queue_id)

    def close(self) -> None:
        """Take up no more."""
        self._is_closed = True
        self._schedule.wake_up()

    async def _bring_forward(self) -> None:
        """Make due what is due later than anything is ever put off to.

        Another dispatcher held it in memory, or the clock was set back since. After a start only: this process writes
        and compares due times by a clock of its own, which is never set.
        """
        now = CLOCK.time()
        queue_ids = [(each.subscription, each.stage) for each in await self._in_thread(self._ledger.earliest)]
        latest = {queue_id: now + self._queues.longest_wait(queue_id[0]) for queue_id in queue_ids}
        await self._in_thread(self._ledger.bring_forward, latest, now)

    async def _look(self) -> float:
        """Find out who waits: after a start, and because others may add to the ledger. Return when to look again."""
        began = time.monotonic()
        entries = await self._in_thread(self._ledger.earliest)
        now = time.monotonic()
        for subscription, stage, due in entries:
            # A mailbox takes everything, due or not.
            is_moved = stage == SINK and self._subscribers.is_pulled(subscription)
            self._schedule.add((subscription, stage), 0.0 if is_moved else due)
        await self._let_go([(entry.subscription, entry.stage) for entry in entries if entry.due >= HELD])
        return next_look(began, now)

    async def _let_go(self, queue_ids: list[QueueId]) -> None:
        """Make due what is held for these, where nothing is under way here: who held it is gone."""
        queues = {queue_id: self._queues.find(*queue_id) for queue_id in queue_ids}
        now = CLOCK.time()
        orphaned = {
            queue_id: now for queue_id, queue in queues.items() if queue is None or not queue.state.held
        }
        if orphaned:
            await self._in_thread(self._ledger.bring_forward, orphaned, now)
            for queue_id in orphaned:
                self._schedule.add(queue_id, now)

    async def _take_up(self, queue_id: QueueId) -> None:
        subscription, stage = queue_id
        # Pulled as far as is known: it may have got a sink meanwhile, and what waits for that isn't moved back.
        if self._subscribers.get(subscription) is None or self._subscribers.is_pulled(subscription):
            await self._refresh()
        if stage == SINK and self._subscribers.is_pulled(subscription):
            await self._move_to_mailbox(queue_id)
            return
        queue = self._queues.get(*queue_id)
        if queue is not None and queue.state.is_partitioned and not queue.state.is_keyed:
            await self._settlement.commit()  # what was written while the ordering was another has no keys
            has_keys = await self._in_thread(self._ledger.has_keys, subscription)
            queue.state.learn_keys(are_there=has_keys)
        if queue is None:
            await self._forget(queue_id, None)
        elif stage == SINK and self._subscribers.is_ended(subscription):
            self._settlement.part(queue)
            await self._forget(queue_id, SINK)
        elif queue.obstacle is not None:
            self._settlement.part(queue)
            queue.state.expect_more()
            if queue.breaker.is_open:
                self._schedule.add(queue_id, queue.breaker.until)
        elif (room := self._room(queue)) <= 0:
            self._settlement.part(queue)
            self._settlement.park(queue)
            queue.state.expect_more()
            queue.wake()  # what it holds may have come while there was an obstacle
            self._schedule.add(queue_id, CLOCK.time() + _LATER_SECONDS)
        elif queue.state.is_ordered:
            await self._take_up_in_order(queue, room)
        else:
            await self._take_up_due(queue, room)

    def _room(self, queue: SubscriptionQueue) -> int:
        return min(self._queues.room(queue), 2 * queue.state.capacity - len(queue.state.held))

    async def _forget(self, queue_id: QueueId, stage: str | None) -> None:
        dropped = await self._in_thread(self._ledger.forget, queue_id[0], stage)
        DISCARDED.inc(dropped)
        if dropped:
            self._schedule.add(queue_id, 0.0)

    async def _move_to_mailbox(self, queue_id: QueueId) -> None:
        """Let what waits be pulled, in order and due or not: there is no sink that anything could be put off for.

        What is still under way is left to its outcome, or a consumer might get what the sink has taken.
        """
        queue = self._queues.find(*queue_id)
        if queue is not None:
            self._settlement.part(queue)
        # What is read again after a start may come before what the ledger has already.
        if self._queues.is_recovering or (queue is not None and queue.state.is_leaving):
            self._schedule.add(queue_id, CLOCK.time() + _SOON_SECONDS)
            return
        limit = _MOVED_AT_A_TIME + (0 if queue is None else len(queue.state.held))
        waits = await self._in_thread(self._ledger.in_order, queue_id[0], limit)
        moved = [wait for wait in waits if queue is None or wait.key not in queue.state.held]
        if moved:
            await self._in_thread(self._ledger.move_to_mail, moved)
            self._schedule.add(queue_id, CLOCK.time())
        if queue is not None:
            queue.state.learn_backlog(is_more=bool(moved) or queue.is_busy)

    async def _take_up_due(self, queue: SubscriptionQueue, room: int) -> None:
        now, asked = CLOCK.time(), room + len(queue.state.held)
        waits = await self._in_thread(self._ledger.due, *queue.id, now, asked)
        new, is_more = _choose(queue, waits, room, asked)
        payloads = await self._events.payloads(new)
        if not self._is_current(queue) or queue.state.is_ordered:  # what was read may not be what comes next
            self._schedule.add(queue.id, CLOCK.time())
            return
        # While we read, the queue may have been filled, or an obstacle has come: what is put before one stays there.
        room = max(0, self._room(queue))
        self._put(queue, new[:room], payloads)
        queue.state.learn_backlog(is_more=is_more or len(new) > room)
        if queue.state.backlog:
            self._schedule.add(queue.id, CLOCK.time() + _LATER_SECONDS)
        elif (due := await self._in_thread(self._ledger.next_due, *queue.id, now)) is not None:
            self._schedule.add(queue.id, due)

    async def _take_up_in_order(self, queue: SubscriptionQueue, room: int) -> None:
        """Take up what comes next, due or not: the queue itself waits for its head.

        What comes meanwhile joins behind it, where the ledger turns out to hold nothing else.
        """
        state = queue.state
        look = state.look(is_recovering=self._queues.is_recovering)
        if look is None:
            self._schedule.add(queue.id, CLOCK.time() + _SOON_SECONDS)
            return
        if state.is_arriving:
            await self._settlement.commit()
        asked = room + len(state.held)
        left_out = [order_key(each) for each in look.left_out]
        waits = await self._in_thread(self._ledger.in_order, queue.id[0], asked, left_out)
        new, is_more = _choose_in_order(queue, waits, room, asked)
        payloads = await self._events.payloads(new)
        if not self._is_current(queue):
            self._schedule.add(queue.id, CLOCK.time())
        elif state.is_stale(look) or queue.obstacle is not None:  # what was read isn't what comes next
            self._settlement.part(queue)
            state.expect_more()
            self._schedule.add(queue.id, CLOCK.time() + _SOON_SECONDS)
        else:
            self._put(queue, new, payloads)
            self._rejoin(queue, state.rejoin(look, is_more=is_more))

    def _rejoin(self, queue: SubscriptionQueue, joining: list[Delivery] | None) -> None:
        """Let what came meanwhile into the queue; or into the ledger, where that holds more."""
        if joining is None:
            self._settlement.part(queue)
            if queue.state.is_partitioned:
                self._settlement.park(queue)
            self._schedule.add(queue.id, CLOCK.time() + (_LATER_SECONDS if queue.queued else _SOON_SECONDS))
            return
        for delivery in joining:
            if self._subscribers.wants(delivery.key):
                self._queues.take_up(queue, delivery)
            else:
                self._settlement.discard(queue, [delivery])

    def _is_current(self, queue: SubscriptionQueue) -> bool:
        """Tell whether the queue is still its subscription's, which may have been deleted while we read."""
        return self._queues.find(*queue.id) is queue

    def _put(self, queue: SubscriptionQueue, waits: list[Wait], payloads: dict[Key, Payload]) -> None:
        queue.state.hold(wait.key for wait in waits)
        for wait in waits:
            payload = payloads.get(wait.key)
            is_wanted = self._subscribers.wants(wait.key)
            if is_wanted and payload is not None:
                due = wait.due if wait.due < HELD else 0.0  # who held it is gone
                self._queues.take_up(
                    queue, Delivery(wait.key, payload, wait.attempts, True, due, wait.event, wait.failure)
                )
            elif is_wanted and (not wait.key.replay or wait.event is not None):
                self._settlement.lose(queue, wait.key, waited=True)
            else:  # it waited for a replay that is over, or a seek went past it
                self._settlement.discard_waiting(queue, wait.key)


def next_look(began: float, ended: float) -> float:
    """Return when to look again at all that waits, after a look from one moment to another."""
    return ended + max(_LOOK_SECONDS, min((ended - began) / _PART_FOR_LOOKS, _LATEST_LOOK_SECONDS))


def _choose(queue: SubscriptionQueue, waits: list[Wait], room: int, asked: int) -> tuple[list[Wait], bool]:
    """Return what the queue is to take, and whether the ledger holds more."""
    new = [wait for wait in waits if wait.key not in queue.state.held]
    return new[:room], len(new) > room or len(waits) >= asked


def _choose_in_order(
    queue: SubscriptionQueue, waits: list[Wait], room: int, asked: int
) -> tuple[list[Wait], bool]:
    """Do the same with what `Ledger.in_order` returned: one sequence that used up its part may go on."""
    sequences = Counter((wait.key.replay, partition_of(wait.key.position)) for wait in waits)
    new, is_more = _choose(queue, waits, room, asked)
    return new, is_more or any(count >= asked / len(sequences) for count in sequences.values())
