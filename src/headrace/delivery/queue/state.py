"""Where the deliveries of one queue are: the pure core of a subscription queue, without I/O and without a clock.

A delivery that was accepted is in exactly one of these places until it is settled:

    accept ─▶ buffer ──take──▶ under way ──release──▶ settled
      │         ▲  ▲              │
      │         │  └────stay──────┘ a head that failed, in an ordered queue
      ├─▶ joining (while the ledger is read) ──rejoin──▶ buffer
      └─▶ ledger (spill, part, park; durable once it is committed) ──take up──▶ buffer

The laws:

- Nothing is lost: what leaves memory is returned by the transition that lets it go, for the ledger to keep.
- Order where it is asked for: what is new goes behind what the ledger holds of its order, or may hold.
- Memory is bounded: the buffer never has more than it was said there is room for, what joins no more than half of the
  capacity.
"""

from __future__ import annotations

from collections import Counter
from enum import Enum, auto
from hashlib import blake2b
from typing import TYPE_CHECKING, NamedTuple

from headrace.delivery.queue.order import OrderedBuffer, UnorderedBuffer, order_of
from headrace.subscriptions.delivery.spec import Ordering

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable
    from collections.abc import Set as AbstractSet

    from headrace.delivery.queue.delivery import Delivery
    from headrace.delivery.queue.order import Buffer
    from headrace.ledger.ledger import Key


class Write(Enum):
    """Why the ledger is told of a delivery."""

    LEAVES = auto()
    """It was in the queue and isn't any more."""
    ARRIVES = auto()
    """It never was in the queue, and what is new has to go behind it."""
    JOINS_PARKED = auto()
    """It never was in the queue, and only what is new of its order has to go behind it."""
    STAYS = auto()
    """It is still in the queue: a crash must not forget it."""


class Look(NamedTuple):
    """A reading of the ledger that is under way. Rows of the `left_out` orders are left there."""

    generation: int
    left_out: frozenset[Hashable]


class QueueState:
    """For one event loop. Others read what it says; they change it by its transitions only."""

    def __init__(self, ordering: Ordering, capacity: int) -> None:
        self.capacity = capacity
        self._held: set[Key] = set()
        self._backlog = False
        self._is_keyed = True
        self._joining: list[Delivery] | None = None
        self._parked: frozenset[Hashable] = frozenset()
        self._generation = 0
        self._writes: Counter[Write] = Counter()
        self._set_ordering(ordering)

    def _set_ordering(self, ordering: Ordering) -> None:
        self.ordering = ordering
        self.is_ordered = ordering is not Ordering.UNORDERED
        self.is_partitioned = ordering is Ordering.PARTITIONKEY
        self._order = order_of(ordering)
        self._ordered = OrderedBuffer(self._order) if self.is_ordered else None
        self.buffer: Buffer = UnorderedBuffer() if self._ordered is None else self._ordered

    # What there is

    @property
    def held(self) -> AbstractSet[Key]:
        """What the ledger holds and is here, or under way."""
        return self._held

    @property
    def backlog(self) -> bool:
        """Whether the ledger holds more, as far as is known."""
        return self._backlog

    @property
    def is_keyed(self) -> bool:
        """Whether each row of the ledger has the key of its order, so that those of some orders can be left out."""
        return self._is_keyed

    def __len__(self) -> int:
        return len(self.buffer)

    @property
    def joining(self) -> int:
        """How many wait to join the queue."""
        return len(self._joining or ())

    def joins_since(self, before: float) -> bool:
        """Tell whether anything has been waiting to join since before a time."""
        return self._joining is not None and any(each.since < before for each in self._joining[:1])

    @property
    def is_looking(self) -> bool:
        """Whether what is new waits until the ledger was read."""
        return self._joining is not None

    @property
    def can_join(self) -> bool:
        """Whether what is new may wait until the ledger was read."""
        return self._joining is not None and len(self._joining) < max(1, self.capacity // 2)

    @property
    def must_wait(self) -> bool:
        """Whether what is new has to go behind something: the ledger's, or what waits to join."""
        return self.is_ordered and (self._backlog or self.is_looking or bool(self._parked))

    def is_parked(self, delivery: Delivery) -> bool:
        """Tell whether the ledger has what is ahead of a delivery, and holds it until its order goes on."""
        return bool(self._parked) and self._order(delivery) in self._parked

    @property
    def has_nothing_behind(self) -> bool:
        """Whether nothing but attempts under way could still go to the ledger."""
        return not (self.buffer or self._joining or self._writes.total())

    @property
    def is_leaving(self) -> bool:
        """Whether anything that was here is on its way to the ledger, and isn't durable."""
        return self._writes[Write.LEAVES] > 0

    @property
    def is_arriving(self) -> bool:
        """Whether anything that never was here is on its way to the ledger, and isn't durable."""
        return self._writes[Write.ARRIVES] + self._writes[Write.JOINS_PARKED] > 0

    @property
    def is_empty(self) -> bool:
        """Whether nothing is here, in the ledger, or on its way there."""
        return self.has_nothing_behind and not (self._held or self._backlog or self._parked)

    # Into the queue

    def accept(self, delivery: Delivery, *, has_room: bool, is_recovering: bool) -> list[Delivery]:
        """Take in what is new; return what has to go to the ledger instead, in its order.

        `is_recovering` says that what is new may come before what the ledger has.
        """
        if not self.is_ordered:
            if has_room:
                self.buffer.put(delivery)
                return []
        elif not is_recovering:
            if self.is_parked(delivery):
                return [delivery]
            if self.can_join:
                assert self._joining is not None  # noqa: S101  it can
                self._joining.append(delivery)
                return []
            if has_room and not self._backlog and not self.is_looking:
                self.buffer.put(delivery)
                return []
        spilled = [*self.part(), delivery]
        self._backlog = True
        return spilled

    def begin(self) -> None:
        """Begin without knowing what the ledger holds: an ordered queue has to look first."""
        if self.is_ordered:
            self._backlog, self._joining, self._is_keyed = True, [], False

    # Out of the queue, to the ledger

    def part(self) -> list[Delivery]:
        """Give out what was to join: its turn is later."""
        joining, self._joining = self._joining or [], None
        self._backlog = self._backlog or bool(joining)
        return joining

    def spill(self) -> list[Delivery]:
        """Give out all that is queued. What was read of the ledger before doesn't come next any more."""
        self._generation += 1
        drained = self.drain()
        self._backlog = self._backlog or bool(drained)
        self._held.difference_update(each.key for each in drained if each.waited)
        return drained

    def leave(self) -> None:
        """Something that was attempted goes back to the ledger, and is ahead of what waits there."""
        self._generation += 1
        self._backlog = self._backlog or self.is_ordered

    def park(self) -> list[Delivery]:
        """Give out what is queued behind heads that wait for their time: other orders need the room.

        Until such a head is settled, what is new of its order goes to the ledger as well.
        """
        if self._ordered is None or not self.is_partitioned or not self._is_keyed:
            return []
        orders = [each for each in self._ordered.delayed() if isinstance(each, str)]
        parked = self._ordered.drain_behind(orders)
        if parked:
            self._generation += 1
            self._parked |= {self._order(each) for each in parked}
            self._held.difference_update(each.key for each in parked if each.waited)
        return parked

    def drain(self, which: Callable[[Delivery], bool] = lambda _: True) -> list[Delivery]:
        """Give out what was not begun: all, or those that are asked for."""
        return self.buffer.drain(which)

    def reorder(self, ordering: Ordering, under_way: Iterable[list[Delivery]]) -> None:
        """Take a buffer of another kind; what was in the old one has been spilled.

        What is under way stays so, and what has the same order waits for it.
        """
        self._set_ordering(ordering)
        self._parked, self._is_keyed, self._backlog = frozenset(), False, True
        for deliveries in under_way:
            self.buffer.hold(deliveries)

    def writing(self, why: Write, count: int = 1) -> None:
        """So many deliveries were given to whoever writes the ledger."""
        self._writes[why] += count

    def made_durable(self, why: Write, count: int = 1) -> None:
        """The ledger has so many of them now."""
        self._writes[why] -= count

    # From the ledger into the queue

    def look(self, *, is_recovering: bool) -> Look | None:
        """Begin to read what the ledger holds next of an ordered queue. What is new joins behind it meanwhile.

        None where that isn't known there yet: what left the queue, or is read again after a start, may come before
        everything that the ledger has.
        """
        if self.is_leaving or is_recovering:
            self._backlog = True
            return None
        if self._joining is None:
            self._joining = []
        left_out: frozenset[Hashable] = frozenset()
        if self._is_keyed and self._ordered is not None and self.is_partitioned:
            delayed = frozenset(each for each in self._ordered.delayed() if isinstance(each, str))
            left_out = delayed | frozenset(each for each in self._parked if each in self._ordered)
        self._parked = left_out  # what is new of the others joins
        return Look(self._generation, left_out)

    def expect_more(self) -> None:
        """Take the ledger to hold more: something may have gone there, or what is there may be attempted now."""
        self._backlog = True

    def learn_backlog(self, *, is_more: bool) -> None:
        """Take note of whether the ledger holds more, of a queue without an order or without a sink."""
        self._backlog = is_more

    def learn_keys(self, *, are_there: bool) -> None:
        """Take note of whether each row of the ledger has the key of its order."""
        self._is_keyed = are_there

    def hold(self, keys: Iterable[Key]) -> None:
        """The ledger holds these, and they are here or under way."""
        self._held.update(keys)

    def let_go(self, key: Key) -> None:
        """The ledger has heard of the end of one of them."""
        self._held.discard(key)

    def is_stale(self, look: Look) -> bool:
        """Tell whether what was read isn't what comes next: something left the queue since."""
        return look.generation != self._generation

    def take_up(self, delivery: Delivery) -> None:
        """Queue what the ledger holds, or what has waited to join, behind all that is here of its order."""
        if delivery.waited:
            self._held.add(delivery.key)
        self.buffer.put(delivery)

    def rejoin(self, look: Look, *, is_more: bool) -> list[Delivery] | None:
        """End a look: return what came meanwhile and may be queued now, or None where the ledger holds more."""
        assert not self.is_stale(look)  # noqa: S101  the caller looked
        if is_more or self._joining is None or self._writes[Write.ARRIVES]:
            self._backlog = True
            return None
        joining, self._joining = self._joining, None
        self._backlog = False
        return joining

    # Attempts

    def take(self, most: int, now: float) -> list[Delivery]:
        """Take so many to attempt them."""
        return self.buffer.take(most, now)

    def stay(self, deliveries: list[Delivery]) -> None:
        """Put what was attempted in front of what is behind it, until it is due."""
        self._held.update(each.key for each in deliveries)
        self.buffer.put_back(deliveries)

    def release(self, deliveries: list[Delivery]) -> bool:
        """End an attempt, once it is settled. Tell whether the ledger holds what may go on now."""
        self.buffer.release(deliveries)
        if not self._parked or self._ordered is None:
            return False
        is_free = any(
            order in self._parked and order not in self._ordered
            for order in {self._order(each) for each in deliveries}
        )
        self._backlog = self._backlog or is_free
        return is_free

    def order_key(self, delivery: Delivery) -> str | None:
        """Return what the ledger calls the order of a delivery; None where it has to stay in line with all others."""
        if not self.is_partitioned:
            return None
        order = self._order(delivery)
        return order_key(order) if isinstance(order, str) else ""


def order_key(order: Hashable) -> str:
    """Return the digest by which the ledger knows an order."""
    return blake2b(str(order).encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()
