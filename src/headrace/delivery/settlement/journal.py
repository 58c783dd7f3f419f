"""Collects changes for the ledger and commits them together, a few times a second."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.delivery.settlement.unpassed import Unpassed
from headrace.ledger.ledger import Changes, GivenUp, Key, Wait, WaitBatch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.ledger.records.attempts import Attempt

_MAX_COLLECTED = 10_000
# What is kept in columns takes so much less.
_MAX_IN_BATCHES = 50_000


class Journal:
    """Write-behind for one event loop. A callback given with a change runs once the change is durable.

    What is said last of a delivery holds. What is said without a pause in between is in one commit.
    """

    def __init__(self, ledger: LedgerThread, progress: DeliveryProgress) -> None:
        self._ledger = ledger.ledger
        self._in_thread = ledger.run
        self._progress = progress
        self._waits: dict[Key, Wait] = {}
        self._burials: dict[Key, GivenUp] = {}
        self._finished: dict[Key, None] = {}
        self._attempts: list[Attempt] = []
        self._batches: list[WaitBatch] = []
        self._in_batches = 0
        self._callbacks: list[Callable[[], None]] = []
        self._unpassed = Unpassed(*self._ledger.settled())
        self._cursor = self._ledger.cursor()
        self._replay_cursors: Mapping[str, int] = {}
        self._is_committing_much = False

    def wait(self, wait: Wait, then: Callable[[], None]) -> None:
        """Keep a delivery for another attempt."""
        self._finished.pop(wait.key, None)
        self._waits[wait.key] = wait
        self._collect(then)

    def keep(self, batch: WaitBatch, then: Callable[[], None]) -> None:
        """Keep deliveries that have just come, and of which nothing was said before."""
        self._batches.append(batch)
        self._in_batches += len(batch.positions)
        self._collect(then)

    def bury(self, burial: GivenUp, then: Callable[[], None]) -> None:
        """Give a delivery up, and keep its event."""
        self._waits.pop(burial.key, None)
        self._burials[burial.key] = burial
        self._collect(then)

    def finish(self, key: Key, then: Callable[[], None]) -> None:
        """Remove a waiting delivery that needs no other attempt."""
        self._waits.pop(key, None)
        self._finished[key] = None
        self._unpassed.settle(key)
        self._collect(then)

    def settle(self, key: Key) -> None:
        """Take note that a delivery of which the ledger knows nothing needs no other attempt."""
        self._unpassed.settle(key)

    def record(self, attempt: Attempt) -> None:
        """Add an attempt to the log of attempts."""
        self._attempts.append(attempt)

    @property
    def is_full(self) -> bool:
        """Whether so much is collected, or being committed, that nothing should be added."""
        most = max(self._unpassed.count, len(self._attempts), len(self._callbacks))
        return self._is_committing_much or most >= _MAX_COLLECTED or self._in_batches >= _MAX_IN_BATCHES

    async def flush(self) -> None:
        """Commit what was collected and how far the outbox and the replays are settled."""
        cursor, replays = self._progress.log.settled(), self._progress.reaches()
        numbers = {replay: reach.settled for replay, reach in replays.items()}
        moved = {each: number for each, number in numbers.items() if self._replay_cursors.get(each) != number}
        is_new = bool(self._callbacks or self._attempts or self._unpassed.count)
        if not is_new and cursor == self._cursor and not moved:
            return
        self._is_committing_much = self.is_full
        changes = Changes(
            list(self._waits.values()),
            list(self._burials.values()),
            list(self._finished),
            cursor,
            moved,
            self._attempts,
            self._batches,
            *self._unpassed.take(cursor, replays),
        )
        callbacks, self._callbacks = self._callbacks, []
        self._waits, self._burials, self._finished, self._attempts = {}, {}, {}, []
        self._batches, self._in_batches = [], 0
        await self._in_thread(self._ledger.commit, changes)
        self._cursor, self._replay_cursors = cursor, numbers
        self._is_committing_much = False
        for callback in callbacks:
            callback()

    def _collect(self, then: Callable[[], None]) -> None:
        self._callbacks.append(then)
