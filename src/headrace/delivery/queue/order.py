"""What waits in a queue: in any order, or so that nothing overtakes what has the same order.

Without I/O and without a clock: whoever takes something says what time it is.
"""

from __future__ import annotations

import heapq
from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

from headrace.events.positions import partition_of
from headrace.subscriptions.delivery.spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, MutableSequence

    from headrace.delivery.queue.delivery import Delivery
    from headrace.ledger.ledger import Key


class Buffer(Protocol):
    """What was taken is released when its outcome is settled."""

    def __len__(self) -> int: ...

    def is_ready(self, now: float) -> bool:
        """Tell whether anything may be taken now."""
        ...

    def next_due(self) -> float | None:
        """Return when something may be taken that may not be before; None where nothing waits for its time."""
        ...

    def put(self, delivery: Delivery) -> None:
        """Put a delivery behind all others of its order."""
        ...

    def put_back(self, deliveries: list[Delivery]) -> None:
        """Put what was taken before all others of its order; it stays there until it is due."""
        ...

    def take(self, most: int, now: float) -> list[Delivery]:
        """Take so many, or fewer."""
        ...

    def hold(self, deliveries: Iterable[Delivery]) -> None:
        """Count as taken what another buffer gave out before this one was in its place."""
        ...

    def release(self, deliveries: Iterable[Delivery]) -> None:
        """Let what is behind them go. Once for each `take` or `hold`."""
        ...

    def drain(self, which: Callable[[Delivery], bool]) -> list[Delivery]:
        """Take out what was not begun and is asked for."""
        ...

    def save(self, before: float) -> list[Delivery]:
        """Mark as `waited` what is in memory alone since before a time; return it as it was."""
        ...


class UnorderedBuffer:
    """First in, first out, as many at a time as one likes."""

    __slots__ = ("_items",)

    def __init__(self) -> None:
        self._items: deque[Delivery] = deque()

    def __len__(self) -> int:
        return len(self._items)

    def is_ready(self, now: float) -> bool:  # noqa: ARG002, D102
        return bool(self._items)

    def next_due(self) -> float | None:  # noqa: D102
        return None

    def put(self, delivery: Delivery) -> None:  # noqa: D102
        self._items.append(delivery)

    def put_back(self, deliveries: list[Delivery]) -> None:  # noqa: D102
        self._items.extendleft(reversed(deliveries))

    def take(self, most: int, now: float) -> list[Delivery]:  # noqa: ARG002, D102
        items = self._items
        if most == 1:
            return [items.popleft()] if items else []
        return [items.popleft() for _ in range(min(most, len(items)))]

    def hold(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        pass

    def release(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        pass

    def drain(self, which: Callable[[Delivery], bool]) -> list[Delivery]:  # noqa: D102
        drained = [each for each in self._items if which(each)]
        self._items = deque(each for each in self._items if not which(each))
        return drained

    def save(self, before: float) -> list[Delivery]:  # noqa: D102
        return save(self._items, before)


class OrderedBuffer:
    """One under way per order (or one batch of it). A head that isn't due holds up what is behind it.

    More may be under way at first, begun while the ordering was another: what is new waits for all of them.
    """

    __slots__ = ("_busy", "_delayed", "_dues", "_entries", "_order", "_queues", "_ready", "_size")

    def __init__(self, order: Callable[[Delivery], Hashable]) -> None:
        self._order = order
        self._queues: dict[Hashable, deque[Delivery]] = {}
        self._ready: dict[Hashable, None] = {}  # in the order in which they became so
        self._delayed: dict[Hashable, int] = {}  # to the number of its entry among the dues
        self._dues: list[tuple[float, int, Hashable]] = []  # a heap, with entries that are out of date
        self._entries = 0
        self._busy: Counter[Hashable] = Counter()  # attempts under way
        self._size = 0

    def __len__(self) -> int:
        return self._size

    def __contains__(self, order: Hashable) -> bool:
        """Tell whether anything of an order is here or under way."""
        return order in self._queues or order in self._busy

    def is_ready(self, now: float) -> bool:  # noqa: D102
        self._promote(now)
        return bool(self._ready)

    def next_due(self) -> float | None:  # noqa: D102
        while self._dues and not self._is_current(self._dues[0]):
            heapq.heappop(self._dues)
        return self._dues[0][0] if self._dues else None

    def delayed(self) -> Iterable[Hashable]:
        """Return the orders whose head waits for its time."""
        return self._delayed.keys()

    def put(self, delivery: Delivery) -> None:  # noqa: D102
        order = self._order(delivery)
        self._size += 1
        buffer = self._queues.get(order)
        if buffer is None:
            self._queues[order] = deque([delivery])
            self._offer(order)
        else:
            buffer.append(delivery)

    def put_back(self, deliveries: list[Delivery]) -> None:  # noqa: D102
        self._size += len(deliveries)
        for delivery in reversed(deliveries):
            _insert(self._queues.setdefault(self._order(delivery), deque()), delivery)

    def take(self, most: int, now: float) -> list[Delivery]:  # noqa: D102
        self._promote(now)
        taken: list[Delivery] = []
        while self._ready and len(taken) < most:
            order = next(iter(self._ready))
            del self._ready[order]
            self._busy[order] += 1
            buffer = self._queues[order]
            while buffer and len(taken) < most:
                taken.append(buffer.popleft())
            if not buffer:
                del self._queues[order]
        self._size -= len(taken)
        return taken

    def hold(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        for order in {self._order(each) for each in deliveries}:
            self._busy[order] += 1
            self._withdraw(order)

    def release(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        for order in {self._order(each) for each in deliveries}:
            self._busy[order] -= 1
            if self._busy[order] <= 0:
                del self._busy[order]
            self._offer(order)

    def drain(self, which: Callable[[Delivery], bool]) -> list[Delivery]:  # noqa: D102
        drained: list[Delivery] = []
        for order, buffer in list(self._queues.items()):
            drained += [each for each in buffer if which(each)]
            left = deque(each for each in buffer if not which(each))
            self._withdraw(order)
            if left:
                self._queues[order] = left
                self._offer(order)  # the head may be another one
            else:
                del self._queues[order]
        self._size -= len(drained)
        return drained

    def drain_behind(self, orders: Iterable[Hashable]) -> list[Delivery]:
        """Take out everything of these orders but their heads."""
        drained: list[Delivery] = []
        for order in orders:
            head, *behind = self._queues[order]
            self._queues[order] = deque([head])
            drained += behind
        self._size -= len(drained)
        return drained

    def save(self, before: float) -> list[Delivery]:  # noqa: D102
        return [each for buffer in self._queues.values() for each in save(buffer, before)]

    def _offer(self, order: Hashable) -> None:
        """Let the head of an order be taken, at once or when it is due, unless one of its order is under way."""
        if order in self._busy or order not in self._queues:
            return
        due = self._queues[order][0].due
        if due:
            self._entries += 1
            self._delayed[order] = self._entries
            heapq.heappush(self._dues, (due, self._entries, order))
        else:
            self._ready[order] = None

    def _withdraw(self, order: Hashable) -> None:
        self._ready.pop(order, None)
        self._delayed.pop(order, None)

    def _promote(self, now: float) -> None:
        while self._dues and self._dues[0][0] <= now:
            entry = heapq.heappop(self._dues)
            if self._is_current(entry):
                del self._delayed[entry[2]]
                self._ready[entry[2]] = None

    def _is_current(self, entry: tuple[float, int, Hashable]) -> bool:
        return self._delayed.get(entry[2]) == entry[1]


def _insert(buffer: deque[Delivery], delivery: Delivery) -> None:
    """Put a delivery before all others, but for those that come before it and were put back first."""
    at = 0
    while at < len(buffer) and _precedes(buffer[at].key, delivery.key):
        at += 1
    buffer.insert(at, delivery)


def _precedes(one: Key, other: Key) -> bool:
    """Tell whether both are of one sequence, and in this order."""
    is_one_sequence = one.replay == other.replay and partition_of(one.position) == partition_of(
        other.position
    )
    return is_one_sequence and one.position < other.position


def save(deliveries: MutableSequence[Delivery], before: float) -> list[Delivery]:
    """Mark as `waited`, in its queue, what is in memory alone since before a time; return it as it was."""
    found = [n for n, each in enumerate(deliveries) if each.since < before and not each.waited]
    saved = [deliveries[number] for number in found]
    for number in found:
        deliveries[number] = deliveries[number]._replace(waited=True)
    return saved


def order_of(ordering: Ordering) -> Callable[[Delivery], Hashable]:
    """Return what tells the order of a delivery: those with the same one must not overtake one another."""
    return _one_order if ordering is Ordering.ORDERED else _partition


def _one_order(_: Delivery) -> Hashable:
    return None


def _partition(delivery: Delivery) -> Hashable:
    """An event without a `partitionkey` has an order of its own: nobody waits for it."""
    key = delivery.payload.recorded.event.attributes.get("partitionkey")
    return delivery.key if key is None else str(key)
