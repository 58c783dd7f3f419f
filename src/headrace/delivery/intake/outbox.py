"""From the outbox and the replays into the queues.

What a queue can't take goes to the ledger, so that a slow sink never holds up the reading for the others.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from headrace.delivery.intake.planned import Planned, gathered
from headrace.delivery.queue.delivery import Delivery
from headrace.events.positions import LogPosition, partition_of, partitions_of
from headrace.ledger.ledger import Key
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence
    from typing import Any

    import numpy.typing as npt

    from headrace.delivery.intake.mailboxes import MailboxIntake
    from headrace.delivery.intake.progress import PartitionProgress
    from headrace.delivery.intake.subscribers import Subscribers
    from headrace.delivery.queue.queue import SubscriptionQueue
    from headrace.delivery.queue.queues import SubscriptionQueues
    from headrace.delivery.retry.events import EventSource
    from headrace.delivery.settings import DeliverySettings
    from headrace.delivery.settlement.journal import Journal
    from headrace.delivery.settlement.settlement import Settlement
    from headrace.eventlog.outbox import OutboxReader
    from headrace.ledger.ledger import Ledger

_PART = "intake"
# Where the ledger holds it up, that says so itself.
_SILENT_AFTER = 30.0
_PAIRS_AT_A_TIME = 1_000
# An outbox that was still for this long is looked at half as often.
_IDLE_AFTER = 1.0
_FULL = "the subscription's queue was full"
_MAY_PRECEDE = "it may come before what waits already"
# A queue that is full and brisk is waited for: so many steps at most for each lot of pairs.
_STEP_SECONDS, _MOST_STEPS = 0.01, 25


class Intake:
    """For one event loop. `refresh` follows the subscriptions; `in_thread` makes the ledger's calls."""

    def __init__(
        self,
        outbox: OutboxReader,
        ledger: Ledger,
        events: EventSource,
        subscribers: Subscribers,
        queues: SubscriptionQueues,
        progress: PartitionProgress,
        journal: Journal,
        settlement: Settlement,
        settings: DeliverySettings,
        mailboxes: MailboxIntake,
        refresh: Callable[[], Awaitable[None]],
        in_thread: Callable[..., Awaitable[Any]],
    ) -> None:
        self._mailboxes = mailboxes
        self._outbox = outbox
        self._ledger = ledger
        self._events = events
        self._subscribers = subscribers
        self._queues = queues
        self._progress = progress
        self._journal = journal
        self._settlement = settlement
        self._settings = settings
        self._refresh = refresh
        self._in_thread = in_thread
        # What the ledger holds of positions that the outbox is read from again is not to be begun a second time.
        self._kept_before = ledger.last_kept()
        self._kept_within = (-1, -1)
        self._kept: set[tuple[str, int]] = set()

    async def run(self, position: LogPosition, stop: asyncio.Event) -> None:
        """Read what is planned from a cut on, until `stop` is set."""
        last_read = time.monotonic()
        while not stop.is_set():
            began = position
            self._recover_to(position)
            parts = gathered(self._outbox.read(position), _PAIRS_AT_A_TIME)
            while (part := await self._events.read(next, parts, None)) is not None:
                position, planned = part
                pairs = await self._mailboxes.sort_out(planned)
                for offset in range(0, pairs.num_rows, _PAIRS_AT_A_TIME):
                    await self._journal.room()
                    await self._plan(pairs.slice(offset, _PAIRS_AT_A_TIME))
                    if stop.is_set():
                        await self._break_off(pairs, offset + _PAIRS_AT_A_TIME, position)
                        return
                self._progress.read_to(position)
                self._recover_to(position)
                HEALTH.working(_PART, f"read what is planned up to position {position}", _SILENT_AFTER)
            if position != began:
                last_read = time.monotonic()
                continue
            if self._outbox.is_blocked:
                HEALTH.idle(_PART, "it waits for the rest of the outbox", _SILENT_AFTER)
            else:
                self._queues.is_recovering = False  # nothing comes before what the ledger has
                HEALTH.idle(_PART, f"nothing is planned behind position {position}", _SILENT_AFTER)
            is_idle = time.monotonic() - last_read > _IDLE_AFTER
            await asyncio.sleep(self._settings.poll_seconds * (2 if is_idle else 1))

    async def _break_off(self, pairs: pa.Table, begun: int, end: LogPosition) -> None:
        """Begin what is left of events that have begun for some, so that the next start goes on behind these.

        It costs little: queues that are closed take nothing, and the ledger is given whole columns.
        """
        positions = pairs["position"].to_numpy()
        is_left = np.isin(positions[begun:], positions[:begun])
        rest = pairs.slice(begun).filter(pa.array(is_left))
        for offset in range(0, rest.num_rows, _PAIRS_AT_A_TIME):
            await self._plan(rest.slice(offset, _PAIRS_AT_A_TIME))
        self._progress.read_to(_cut_before(positions[begun:][~is_left], end))

    def _recover_to(self, position: LogPosition) -> None:
        """From here on, nothing that is planned can be in the ledger, or come before what is there."""
        if self._kept_before <= position:
            self._kept_before = LogPosition()
            self._queues.is_recovering = False

    async def put_replayed(self, delivery: Delivery) -> None:
        """Wait for room: live events have most of the queue, and replays nothing that the ledger must keep for them."""
        share = max(1, self._settings.queue_length // 4)
        while not await self._mailboxes.put_replayed(delivery.key):
            queue = self._queues.get(delivery.key.subscription)
            if queue is not None and not self._subscribers.wants(delivery.key):
                self._settlement.discard(queue, [delivery])
                return
            is_behind = queue is not None and queue.state.must_wait
            if queue is not None and not is_behind and queue.queued < share and self._queues.room(queue) > 0:
                self._queues.take_up(queue, delivery)
                return
            await asyncio.sleep(self._settings.poll_seconds)

    async def _plan(self, pairs: pa.Table) -> None:
        planned = Planned(pairs)
        if any(self._subscribers.get(each) is None for each in planned.subscriptions):
            await self._refresh()
        kept = await self._kept_of(planned.positions.tolist())
        if kept:
            planned = planned.without(kept)
        # All of them now, since positions have to begin in their order.
        self._progress.begin_all(planned.positions)
        pairs_left = planned.pairs(leaving=self._spill(planned))
        payloads = await self._events.read_log({position for position, _ in pairs_left})
        steps, now = _MOST_STEPS, time.monotonic()
        for position, subscription in pairs_left:
            queue, payload = self._queues.get(subscription), payloads.get(position)
            if queue is not None and not self._has_room(queue) and steps and not queue.state.is_ordered:
                steps = await self._wait_for(queue, steps)
            key = Key(subscription, position)
            if payload is None:
                self._settlement.lose(None, key, waited=False)
            else:
                self._begin(queue, Delivery(key, payload, since=now))
        await asyncio.sleep(0)

    def _spill(self, planned: Planned) -> set[int]:
        """Let the ledger keep what is for queues that take nothing now; return the numbers of their subscriptions.

        A slice at a time: sinks that hang may be most of those that want an event, and they must cost next to nothing.
        """
        spilled: set[int] = set()
        for number, subscription in enumerate(planned.subscriptions):
            queue = self._queues.get(subscription)
            if queue is None or (reason := self._closed(queue)) is None:
                continue
            positions = planned.positions_of(number)
            if self._subscribers.wants_all(subscription, positions):
                self._settlement.part(queue)
                self._settlement.set_aside_all(queue, positions.tolist(), reason)
                spilled.add(number)
        return spilled

    def _closed(self, queue: SubscriptionQueue) -> str | None:
        """Return why a queue takes nothing now, whatever it is; None where each delivery has to be looked at."""
        state = queue.state
        if state.is_partitioned:  # where the ledger keeps it, it says of which order it is
            return None
        if state.is_ordered and self._queues.is_recovering:
            return _MAY_PRECEDE
        is_open = state.can_join if state.is_ordered and state.must_wait else self._has_room(queue)
        is_brisk = not state.is_ordered and queue.obstacle is None and queue.throughput.is_brisk
        return None if is_open or is_brisk else queue.obstacle or _FULL

    async def _kept_of(self, positions: Sequence[int]) -> set[tuple[str, int]]:
        """Return what the ledger holds of these; after a start only, until the reading is past all that it held."""
        if not self._kept_before or not any(map(self._kept_before.is_behind, positions)):
            return set()
        within = min(positions), max(positions)
        if partition_of(within[0]) == partition_of(within[1]):
            await self._look_up(within)
            return self._kept
        kept: set[tuple[str, int]] = set()
        for queue in {partition_of(each) for each in positions}:
            own = [each for each in positions if partition_of(each) == queue]
            await self._look_up((min(own), max(own)))
            kept |= self._kept
        return kept

    async def _look_up(self, within: tuple[int, int]) -> None:
        if within != self._kept_within:  # one event for very many subscriptions is several slices
            self._kept = await self._in_thread(self._ledger.kept, *within)
            self._kept_within = within

    async def _wait_for(self, queue: SubscriptionQueue, steps: int) -> int:
        """Give a queue that is full and quick a moment: the detour through the ledger would be longer.

        Nobody waits for a slow one. Return how many steps are left for the next.
        """
        enough = queue.state.capacity // 4
        while steps and queue.throughput.is_brisk and queue.obstacle is None and queue.queued > enough:
            await asyncio.sleep(_STEP_SECONDS)
            steps -= 1
        return steps

    def _begin(self, queue: SubscriptionQueue | None, delivery: Delivery) -> None:
        if queue is None or not self._subscribers.wants(delivery.key):
            self._settlement.discard(queue, [delivery])
            return
        has_room = self._has_room(queue)
        if not has_room and queue.state.is_partitioned and queue.obstacle is None:
            self._settlement.park(queue)
            has_room = self._has_room(queue)
        spilled = self._queues.accept(queue, delivery, has_room=has_room)
        if spilled:
            is_early = queue.state.is_ordered and self._queues.is_recovering
            reason = _MAY_PRECEDE if is_early else queue.obstacle or _FULL
            self._settlement.set_aside(queue, spilled, reason)

    def _has_room(self, queue: SubscriptionQueue) -> bool:
        """Tell whether a queue takes what is new: half of a queue is for what waits, or that would wait for ever."""
        room = self._queues.room(queue)
        return room > 0 and (bool(queue.breaker.until) or queue.queued < max(1, queue.state.capacity // 2))


def _cut_before(positions: npt.NDArray[np.int64], end: LogPosition) -> LogPosition:
    """Return the last cut before these positions, and none behind `end`."""
    firsts = {
        queue: int(positions[partitions_of(positions) == queue].min())
        for queue in np.unique(partitions_of(positions)).tolist()
    }
    return LogPosition(dict(end) | firsts)
