"""One replay on its way into its subscription's queue.

Its events are numbered in the order in which they go out. As with the outbox, an event is in one of three places: in
a chunk at or above the cursor, in the ledger waiting, or settled; a chunk is kept while any of its events may be
needed for another attempt.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from headrace.delivery.attempt.payload import Payload
from headrace.delivery.intake.progress import Progress, Reach
from headrace.delivery.queue.delivery import Delivery
from headrace.delivery.queue.pace import Pace
from headrace.events.batch import from_batch
from headrace.ledger.ledger import Key

if TYPE_CHECKING:
    from collections.abc import Collection

    from headrace.delivery.step import Intake
    from headrace.jobs.replays import Chunk, Replay, Replays
    from headrace.ledger.ledger import Ledger

_PAYLOADS_AT_A_TIME = 500
_LOOK_SECONDS = 0.1
# Where it is refused, it submits an event again after this long, and after twice as long each time.
_REFUSED_SECONDS, _LONGEST_REFUSED_SECONDS = 0.01, 0.1


class ReplayFeed:
    """`run`, `settle` and `reach` belong to the event loop; `payloads` and `report` block, and belong to threads."""

    def __init__(self, replay: Replay, replays: Replays, ledger: Ledger) -> None:
        self.replay = replay
        self._replays = replays
        self._ledger = ledger
        cursor = ledger.replay_cursor(replay.job)
        self._progress = Progress(cursor)
        self._next = cursor
        self._numbers: dict[int, int] = {}  # of the positions under way
        self._pace = Pace(replay.rate)

    async def run(self, intake: Intake[Delivery]) -> None:
        """Submit one event after the other, for as long as there may be more."""
        while True:
            chunk = await asyncio.to_thread(self._next_chunk)
            if chunk is None:
                await asyncio.sleep(_LOOK_SECONDS)
            else:
                await self._feed(chunk, intake)

    async def _feed(self, chunk: Chunk, intake: Intake[Delivery]) -> None:
        events = await asyncio.to_thread(self._replays.events, self.replay.job, chunk)
        kept = await asyncio.to_thread(self._kept_of, chunk)
        for start in range(self._next - chunk.first, chunk.rows, _PAYLOADS_AT_A_TIME):
            for recorded in from_batch(events.slice(start, _PAYLOADS_AT_A_TIME)):
                if recorded.position not in kept:
                    await self._pace.turn()
                    self._begin(recorded.position)
                    payload, now = Payload(self.replay.marking(recorded)), time.monotonic()
                    await _submit(Delivery(self._key(recorded.position), payload, since=now), intake)
                self._next += 1
                self._progress.read_to(self._next)

    def _begin(self, position: int) -> None:
        self._numbers[position] = self._next
        self._progress.begin(self._next)

    def settle(self, position: int) -> None:
        """The event at this position needs nothing more from its chunk, or waits in the ledger."""
        self._progress.settle(self._numbers.pop(position))

    def reach(self) -> Reach:
        """Return how far it is."""
        return Reach(self._progress.settled(), self._progress.read)

    def payloads(self, positions: Collection[int]) -> dict[int, Payload]:
        """Read the events at these positions, which wait in the ledger."""
        found = self._replays.recorded_at(self.replay, positions)
        return {position: Payload(recorded) for position, recorded in found.items()}

    def report(self, replay: Replay) -> bool:
        """Tell how far it is and drop what nobody needs; return whether it is over. `replay` is how it stands now."""
        # In this order: the cursor passes an event only after the ledger has it, so that it is seen in one of them.
        cursor = self._ledger.replay_cursor(replay.job)
        waits, dead = self._ledger.replay_counts(replay.job)
        delivered = max(0, cursor - waits - dead)  # exact once all have begun
        if replay.complete and cursor == replay.found and not waits:
            self._replays.finish(replay.job, delivered, dead)
            return True
        done = [
            chunk
            for chunk in self._replays.chunks(replay.job)
            if chunk.end <= cursor and not self._ledger.replay_waits_within(replay.job, chunk.low, chunk.high)
        ]
        if done:
            self._replays.drop(replay.job, done)
        if (delivered, dead) != (replay.delivered, replay.dead):
            self._replays.tell(replay.job, delivered, dead)
        return False

    def _kept_of(self, chunk: Chunk) -> set[int]:
        """Return the positions of a chunk that the ledger holds from before a start: begun, and not to be again."""
        return {position for _, position in self._ledger.kept(chunk.low, chunk.high, self.replay.job)}

    def _next_chunk(self) -> Chunk | None:
        return next((each for each in self._replays.chunks(self.replay.job) if each.end > self._next), None)

    def _key(self, position: int) -> Key:
        return Key(self.replay.subscription, position, self.replay.job)


async def _submit(delivery: Delivery, intake: Intake[Delivery]) -> None:
    seconds = _REFUSED_SECONDS
    while not await intake.submit(delivery):
        await asyncio.sleep(seconds)
        seconds = min(2 * seconds, _LONGEST_REFUSED_SECONDS)
