"""Taking up what waits in the ledger: when it is due, or in order, as far as its lane has room.

Memory stays bounded whatever waits: a look takes no more rows than a lane may hold.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.clock import CLOCK
from headrace.delivery.queue.delivery import Delivery
from headrace.events.positions import partition_of
from headrace.ledger.schedule import HELD
from headrace.ledger.stages import SINK
from headrace.telemetry.metrics import DISCARDED

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from headrace.delivery.attempt.payload import Parcel
    from headrace.delivery.intake.mailboxes import Mailing
    from headrace.delivery.intake.subscribers import Subscribers
    from headrace.delivery.queue.queue import Lane
    from headrace.delivery.queue.queues import Lanes
    from headrace.delivery.retry.events import Library
    from headrace.delivery.retry.schedule import Agenda, Place
    from headrace.delivery.settlement.journal import Journal
    from headrace.delivery.settlement.settlement import Settling
    from headrace.ledger.ledger import Key, Ledger, Wait

_LOOK_SECONDS = 1.0
_LATER_SECONDS = 1.0
_SOON_SECONDS = 0.02
_MOVED_AT_A_TIME = 1000
# The look at all that waits may take this part of the time.
_PART_FOR_LOOKS = 0.05
# One that was slow because the machine was must not keep others' deliveries waiting for minutes.
_LATEST_LOOK_SECONDS = 30.0


class Waiting:
    """For one event loop. `refresh` follows the subscriptions; `in_thread` makes the ledger's calls."""

    def __init__(
        self,
        ledger: Ledger,
        agenda: Agenda,
        lanes: Lanes,
        library: Library,
        subscribers: Subscribers,
        journal: Journal,
        settling: Settling,
        mailing: Mailing,
        refresh: Callable[[], Awaitable[None]],
        in_thread: Callable[..., Awaitable[Any]],
    ) -> None:
        self._ledger = ledger
        self._agenda = agenda
        self._lanes = lanes
        self._library = library
        self._subscribers = subscribers
        self._journal = journal
        self._settling = settling
        self._mailing = mailing
        self._refresh = refresh
        self._in_thread = in_thread

    async def run(self, seconds: float, stop: asyncio.Event) -> None:
        """Take up what is due every so many seconds, and at once where somebody asks for it."""
        look_at = 0.0
        await self._bring_forward()
        while not stop.is_set():
            if time.monotonic() >= look_at:
                look_at = await self._look()
            for place in self._agenda.take_due():
                await self._take_up(place)
                if stop.is_set():
                    return
            with suppress(TimeoutError):
                await asyncio.wait_for(self._agenda.woken(), seconds)

    async def _bring_forward(self) -> None:
        """Make due what is due later than anything is ever put off to.

        Another dispatcher held it in memory, or the clock was set back since. After a start only: this process writes
        and compares due times by a clock of its own, which is never set.
        """
        now = CLOCK.time()
        places = [(each.subscription, each.stage) for each in await self._in_thread(self._ledger.earliest)]
        latest = {place: now + self._lanes.longest_wait(place[0]) for place in places}
        await self._in_thread(self._ledger.bring_forward, latest, now)

    async def _look(self) -> float:
        """Find out who waits: after a start, and because others may add to the ledger. Return when to look again."""
        began = time.monotonic()
        entries = await self._in_thread(self._ledger.earliest)
        now = time.monotonic()
        for subscription, stage, due in entries:
            # A mailbox takes everything, due or not.
            is_moved = stage == SINK and self._mailing.is_pulled(subscription)
            self._agenda.add((subscription, stage), 0.0 if is_moved else due)
        await self._let_go([(entry.subscription, entry.stage) for entry in entries if entry.due >= HELD])
        return next_look(began, now)

    async def _let_go(self, places: list[Place]) -> None:
        """Make due what is held for these, where nothing is under way here: who held it is gone."""
        lanes = {place: self._lanes.find(*place) for place in places}
        now = CLOCK.time()
        orphaned = {place: now for place, lane in lanes.items() if lane is None or not lane.taken}
        if orphaned:
            await self._in_thread(self._ledger.bring_forward, orphaned, now)
            for place in orphaned:
                self._agenda.add(place, now)

    async def _take_up(self, place: Place) -> None:
        subscription, stage = place
        # Pulled as far as is known: it may have got a sink meanwhile, and what waits for that isn't moved back.
        if self._subscribers.get(subscription) is None or self._mailing.is_pulled(subscription):
            await self._refresh()
        if stage == SINK and self._mailing.is_pulled(subscription):
            await self._move_to_mailbox(place)
            return
        lane = self._lanes.get(*place)
        if lane is None:
            await self._forget(place, None)
        elif stage == SINK and self._subscribers.is_ended(subscription):
            self._settling.part(lane)
            await self._forget(place, SINK)
        elif lane.obstacle is not None:
            self._settling.part(lane)
            lane.backlog = True
            if lane.breaker.is_open:
                self._agenda.add(place, lane.breaker.until)
        elif (room := self._room(lane)) <= 0:
            self._settling.part(lane)
            lane.backlog = True
            lane.wake()  # what it holds may have come while there was an obstacle
            self._agenda.add(place, CLOCK.time() + _LATER_SECONDS)
        elif lane.is_ordered:
            await self._take_up_in_order(lane, room)
        else:
            await self._take_up_due(lane, room)

    def _room(self, lane: Lane) -> int:
        return min(self._lanes.room(lane), 2 * lane.capacity - len(lane.taken))

    async def _forget(self, place: Place, stage: str | None) -> None:
        dropped = await self._in_thread(self._ledger.forget, place[0], stage)
        DISCARDED.inc(dropped)
        if dropped:
            self._agenda.add(place, 0.0)

    async def _move_to_mailbox(self, place: Place) -> None:
        """Let what waits be pulled, in order and due or not: there is no sink that anything could be put off for.

        What is still under way is left to its outcome, or a consumer might get what the sink has taken.
        """
        lane = self._lanes.find(*place)
        if lane is not None:
            self._settling.part(lane)
        if lane is not None and lane.unwritten:
            self._agenda.add(place, CLOCK.time() + _SOON_SECONDS)
            return
        limit = _MOVED_AT_A_TIME + (0 if lane is None else len(lane.taken))
        waits = await self._in_thread(self._ledger.in_order, place[0], limit)
        moved = [wait for wait in waits if lane is None or wait.key not in lane.taken]
        if moved:
            await self._in_thread(self._ledger.move_to_mail, moved)
            self._agenda.add(place, CLOCK.time())
        if lane is not None:
            lane.backlog = bool(moved) or lane.is_busy

    async def _take_up_due(self, lane: Lane, room: int) -> None:
        now, asked = CLOCK.time(), room + len(lane.taken)
        waits = await self._in_thread(self._ledger.due, *lane.place, now, asked)
        new, is_more = _choose(lane, waits, room, asked)
        parcels = await self._library.parcels(new)
        if not self._is_current(lane):
            self._agenda.add(lane.place, CLOCK.time())
            return
        # While we read, the lane may have been filled, or an obstacle has come: what is put before one stays there.
        room = max(0, self._room(lane))
        self._put(lane, new[:room], parcels)
        lane.backlog = is_more or len(new) > room
        if lane.backlog:
            self._agenda.add(lane.place, CLOCK.time() + _LATER_SECONDS)
        elif (due := await self._in_thread(self._ledger.next_due, *lane.place, now)) is not None:
            self._agenda.add(lane.place, due)

    async def _take_up_in_order(self, lane: Lane, room: int) -> None:
        """Take up what comes next, due or not: the lane itself waits for its head.

        What comes meanwhile joins behind it, where the ledger turns out to hold nothing else.
        """
        # What left the lane, or is read again after a start, may come before everything that the ledger has already.
        if lane.unwritten or self._lanes.is_recovering:
            lane.backlog = True
            self._agenda.add(lane.place, CLOCK.time() + _SOON_SECONDS)
            return
        lane.joining, spills = lane.joining or [], lane.spills
        try:
            if lane.arriving:
                await self._journal.flush()
            asked = room + len(lane.taken)
            waits = await self._in_thread(self._ledger.in_order, lane.place[0], asked)
            new, is_more = _choose_in_order(lane, waits, room, asked)
            parcels = await self._library.parcels(new)
        except BaseException:
            lane.joining = None
            raise
        if not self._is_current(lane):
            self._agenda.add(lane.place, CLOCK.time())
            return
        if lane.spills != spills or lane.obstacle is not None:  # what was read isn't what comes next
            self._settling.part(lane)
            self._agenda.add(lane.place, CLOCK.time() + _SOON_SECONDS)
            return
        self._put(lane, new, parcels)
        lane.backlog = is_more or lane.joining is None or bool(lane.arriving)
        if lane.backlog:
            self._settling.part(lane)
            self._agenda.add(lane.place, CLOCK.time() + (_LATER_SECONDS if lane.queued else _SOON_SECONDS))
        else:
            self._join(lane)

    def _join(self, lane: Lane) -> None:
        """Let what came meanwhile into the lane."""
        joining, lane.joining = lane.joining or [], None
        for delivery in joining:
            if self._subscribers.wants(delivery.key):
                self._lanes.put(lane, delivery)
            else:
                self._settling.discard(lane, [delivery])

    def _is_current(self, lane: Lane) -> bool:
        """Tell whether the lane is still its subscription's, which may have been deleted while we read."""
        return self._lanes.find(*lane.place) is lane

    def _put(self, lane: Lane, waits: list[Wait], parcels: dict[Key, Parcel]) -> None:
        lane.taken.update(wait.key for wait in waits)
        for wait in waits:
            parcel = parcels.get(wait.key)
            is_wanted = self._subscribers.wants(wait.key)
            if is_wanted and parcel is not None:
                due = wait.due if wait.due < HELD else 0.0  # who held it is gone
                self._lanes.put(
                    lane, Delivery(wait.key, parcel, wait.attempts, True, due, wait.event, wait.failure)
                )
            elif is_wanted and (not wait.key.replay or wait.event is not None):
                self._settling.lose(lane, wait.key, waited=True)
            else:  # it waited for a replay that is over, or a seek went past it
                DISCARDED.inc()
                self._journal.finish(wait.key, lambda key=wait.key: lane.taken.discard(key))  # type: ignore[misc]


def next_look(began: float, ended: float) -> float:
    """Return when to look again at all that waits, after a look from one moment to another."""
    return ended + max(_LOOK_SECONDS, min((ended - began) / _PART_FOR_LOOKS, _LATEST_LOOK_SECONDS))


def _choose(lane: Lane, waits: list[Wait], room: int, asked: int) -> tuple[list[Wait], bool]:
    """Return what the lane is to take, and whether the ledger holds more."""
    new = [wait for wait in waits if wait.key not in lane.taken]
    return new[:room], len(new) > room or len(waits) >= asked


def _choose_in_order(lane: Lane, waits: list[Wait], room: int, asked: int) -> tuple[list[Wait], bool]:
    """Do the same with what `Ledger.in_order` returned: one sequence that used up its part may go on."""
    sequences = Counter((wait.key.replay, partition_of(wait.key.position)) for wait in waits)
    new, is_more = _choose(lane, waits, room, asked)
    return new, is_more or any(count >= asked / len(sequences) for count in sequences.values())
