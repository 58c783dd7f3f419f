"""Into mailboxes: what is for subscriptions without a sink goes there instead of into a queue.

What comes for a subscription that just lost its sink goes through the ledger for as long as that holds anything: there
it gets behind what waited for the sink. The outbox is read on when the mailboxes have it, durably. A replay is refused
when its mailbox is full: its events stay where they are, and so does the search for more of them.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.clock import CLOCK
from headrace.delivery.step import PolledStep
from headrace.ledger.ledger import Key
from headrace.telemetry.metrics import DISCARDED, MAILED

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.delivery.intake.progress import DeliveryProgress
    from headrace.delivery.intake.subscribers import Changed, SubscriptionChanges
    from headrace.delivery.ledger_thread import LedgerThread
    from headrace.delivery.queue.queues import SubscriptionQueues

_ROWS_AT_A_TIME = 5000
# So many events of a replay are collected, and so many may wait to be pulled.
_MOST_COLLECTED, _MOST_REPLAYED = 2000, 10_000


class Mailboxes(PolledStep):
    """Puts events into mailboxes, those of replays every `seconds`. For one event loop."""

    def __init__(
        self,
        ledger: LedgerThread,
        changes: SubscriptionChanges,
        queues: SubscriptionQueues,
        progress: DeliveryProgress,
        seconds: float,
    ) -> None:
        self._ledger = ledger.ledger
        self._in_thread = ledger.run
        self._changes = changes
        self._subscribers = changes.subscribers
        self._queues = queues
        self._progress = progress
        self._seconds = seconds
        self._direct: set[str] = set()  # subscriptions for which nothing else waits
        self._replayed: list[Key] = []
        self._collected: Counter[str] = Counter()  # by replay, until it is durable
        self._room: dict[str, int] = {}  # that a replay has left, as of the last look
        changes.follow(self._follow)

    async def _follow(self, changed: Changed) -> None:
        """Look again whether the ledger holds anything for subscriptions that changed."""
        self._direct -= changed.keys()

    async def _is_direct(self, subscription_id: str) -> bool:
        """Tell whether what comes goes into the mailbox at once: not before what waited for a sink that is gone.

        Attempts under way hold up nobody: the sink has those events, and they come back only if it fails.
        """
        subscription = self._subscribers.get(subscription_id)
        if subscription is None or not subscription.is_pulled:
            return False
        if subscription_id not in self._direct:
            queue = self._queues.find(subscription_id)
            taken = set() if queue is None else set(queue.state.held)
            waits = await self._in_thread(self._ledger.in_order, subscription_id, len(taken) + 1)
            has_waits = any(wait.key not in taken for wait in waits)
            is_as_it_was = self._subscribers.get(subscription_id) is subscription
            if has_waits or not is_as_it_was or not self._is_empty(subscription_id):
                return False
            self._direct.add(subscription_id)
        return True

    def _is_empty(self, subscription_id: str) -> bool:
        queue = self._queues.find(subscription_id)
        return queue is None or queue.state.has_nothing_behind

    async def sort_out(self, pairs: pa.Table) -> pa.Table:
        """Put what is to be pulled into its mailboxes, and return the other pairs."""
        names = pairs["subscription"].unique().to_pylist()
        await self._changes.learn(names)
        pulled = [each for each in names if self._subscribers.is_pulled(each) and await self._is_direct(each)]
        if not pulled:
            return pairs
        is_pulled = pc.is_in(pairs["subscription"].cast(pa.string()), value_set=pa.array(pulled))
        mine = pairs.filter(is_pulled)
        positions, subscriptions = mine["position"].to_pylist(), mine["subscription"].to_pylist()
        keys = [Key(*pair) for pair in zip(subscriptions, positions, strict=True)]
        wanted = [key for key in keys if self._subscribers.wants(key)]
        DISCARDED.inc(len(keys) - len(wanted))
        for start in range(0, len(wanted), _ROWS_AT_A_TIME):
            await self._put(wanted[start : start + _ROWS_AT_A_TIME])
        return pairs.filter(pc.invert(is_pulled))

    async def submit(self, key: Key) -> bool:
        """Collect an event of a replay for its mailbox; False where there is no room, or it has no mailbox."""
        is_free = len(self._replayed) < _MOST_COLLECTED and await self._is_direct(key.subscription)
        if not is_free or not await self._has_room(key.replay):
            return False
        self._room[key.replay] -= 1
        self._collected[key.replay] += 1
        self._replayed.append(key)
        return True

    async def poll(self) -> float:
        """Make what was collected durable."""
        collected, self._replayed = self._replayed, []
        if collected:
            await self._put(collected)
            self._collected -= Counter(key.replay for key in collected)
            for key in collected:
                self._progress.settle(key)
        return self._seconds

    async def join(self) -> None:
        """Make the rest durable."""
        await self.poll()

    def forget(self, replay: str) -> None:
        """Drop what was collected of a replay that is over."""
        kept = [key for key in self._replayed if key.replay != replay]
        self._collected[replay] -= len(self._replayed) - len(kept)
        self._replayed = kept
        self._room.pop(replay, None)

    async def _has_room(self, replay: str) -> bool:
        if self._room.get(replay, 0) <= 0:
            # Before the look: what becomes durable meanwhile counts twice.
            collected = self._collected[replay]
            waiting = await self._in_thread(self._ledger.mail_of_replay, replay)
            self._room[replay] = _MOST_REPLAYED - waiting - collected
        return self._room[replay] > 0

    async def _put(self, keys: Sequence[Key]) -> None:
        now = CLOCK.time()
        rows = [
            {
                "subscription": key.subscription,
                "replay": key.replay,
                "position": key.position,
                "time": now,
                "event": None,
            }
            for key in keys
        ]
        await self._in_thread(self._ledger.put_mail, rows)
        MAILED.inc(len(rows))
