"""What waits in a queue: in any order, or so that nothing overtakes what has the same order key."""

from __future__ import annotations

from collections import Counter, deque
from typing import TYPE_CHECKING, Protocol

from headrace.clock import CLOCK
from headrace.events.positions import partition_of
from headrace.subscriptions.delivery.spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, MutableSequence

    from headrace.delivery.queue.delivery import Delivery
    from headrace.ledger.ledger import Key

    Later = Callable[[float, Hashable], None]


class Buffer(Protocol):
    """For one event loop. What was taken is released when its outcome is settled."""

    def __len__(self) -> int: ...

    @property
    def is_ready(self) -> bool:
        """Whether anything may be taken now."""
        ...

    def put(self, delivery: Delivery) -> None:
        """Put a delivery behind all others of its order."""
        ...

    def put_back(self, deliveries: list[Delivery]) -> None:
        """Put what was taken before all others of its order; it stays there until it is due."""
        ...

    def take(self, most: int) -> list[Delivery]:
        """Take so many, or fewer."""
        ...

    def hold(self, deliveries: Iterable[Delivery]) -> None:
        """Count as taken what another buffer gave out before this one was in its place."""
        ...

    def release(self, deliveries: Iterable[Delivery]) -> None:
        """Let what is behind them go. Once for each `take` or `hold`."""
        ...

    def is_due(self, order: Hashable) -> None:
        """Look again at what was put off until now."""
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

    @property
    def is_ready(self) -> bool:  # noqa: D102
        return bool(self._items)

    def put(self, delivery: Delivery) -> None:  # noqa: D102
        self._items.append(delivery)

    def put_back(self, deliveries: list[Delivery]) -> None:  # noqa: D102
        self._items.extendleft(reversed(deliveries))

    def take(self, most: int) -> list[Delivery]:  # noqa: D102
        items = self._items
        if most == 1:
            return [items.popleft()] if items else []
        return [items.popleft() for _ in range(min(most, len(items)))]

    def hold(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        pass

    def release(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        pass

    def is_due(self, order: Hashable) -> None:  # noqa: D102
        pass

    def drain(self, which: Callable[[Delivery], bool]) -> list[Delivery]:  # noqa: D102
        drained = [each for each in self._items if which(each)]
        self._items = deque(each for each in self._items if not which(each))
        return drained

    def save(self, before: float) -> list[Delivery]:  # noqa: D102
        return save(self._items, before)


class OrderedBuffer:
    """One under way per order key (or one batch of it). A head that isn't due holds up what is behind it.

    More may be under way at first, begun while the order was another: what is new waits for all of them. `later` is
    asked to call `is_due` with the order key after so many seconds.
    """

    __slots__ = ("_busy", "_later", "_order", "_queues", "_ready", "_size")

    def __init__(self, order: Callable[[Delivery], Hashable], later: Later) -> None:
        self._order = order
        self._later = later
        self._queues: dict[Hashable, deque[Delivery]] = {}
        self._ready: dict[Hashable, None] = {}  # in the order in which they became so
        self._busy: Counter[Hashable] = Counter()  # attempts under way
        self._size = 0

    def __len__(self) -> int:
        return self._size

    @property
    def is_ready(self) -> bool:  # noqa: D102
        return bool(self._ready)

    def put(self, delivery: Delivery) -> None:  # noqa: D102
        order = self._order(delivery)
        self._size += 1
        buffer = self._queues.get(order)
        if buffer is None:
            self._queues[order] = deque([delivery])
            self.is_due(order)
        else:
            buffer.append(delivery)

    def put_back(self, deliveries: list[Delivery]) -> None:  # noqa: D102
        self._size += len(deliveries)
        for delivery in reversed(deliveries):
            _insert(self._queues.setdefault(self._order(delivery), deque()), delivery)

    def take(self, most: int) -> list[Delivery]:  # noqa: D102
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
        self._busy.update({self._order(each) for each in deliveries})

    def release(self, deliveries: Iterable[Delivery]) -> None:  # noqa: D102
        for order in {self._order(each) for each in deliveries}:
            self._busy[order] -= 1
            if self._busy[order] <= 0:
                del self._busy[order]
            self.is_due(order)

    def is_due(self, order: Hashable) -> None:  # noqa: D102
        if order in self._busy or order not in self._queues:
            return
        wait = self._queues[order][0].due - CLOCK.time()
        if wait > 0:
            self._later(wait, order)
        else:
            self._ready[order] = None

    def drain(self, which: Callable[[Delivery], bool]) -> list[Delivery]:  # noqa: D102
        drained: list[Delivery] = []
        for order, buffer in list(self._queues.items()):
            drained += [each for each in buffer if which(each)]
            left = deque(each for each in buffer if not which(each))
            if left:
                self._queues[order] = left
                self._ready.pop(order, None)
                self.is_due(order)  # the head may be another one
            else:
                del self._queues[order]
                self._ready.pop(order, None)
        self._size -= len(drained)
        return drained

    def save(self, before: float) -> list[Delivery]:  # noqa: D102
        return [each for buffer in self._queues.values() for each in save(buffer, before)]


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
    """Mark as `waited`, in its queue_id, what is in memory alone since before a time; return it as it was."""
    found = [n for n, each in enumerate(deliveries) if each.since < before and not each.waited]
    saved = [deliveries[number] for number in found]
    for number in found:
        deliveries[number] = deliveries[number]._replace(waited=True)
    return saved


def buffer_for(ordering: Ordering, later: Later) -> Buffer:
    """Return an empty buffer of the kind that the ordering asks for."""
    if ordering is Ordering.UNORDERED:
        return UnorderedBuffer()
    return OrderedBuffer(_one_order if ordering is Ordering.ORDERED else _partition, later)


def _one_order(_: Delivery) -> Hashable:
    return None


def _partition(delivery: Delivery) -> Hashable:
    """An event without a `partitionkey` has an order of its own: nobody waits for it."""
    key = delivery.payload.recorded.event.attributes.get("partitionkey")
    return delivery.key if key is None else str(key)
