"""Which subscriptions want an event."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from headrace.errors import NotFound
from headrace.events.batch import Recorded, from_batch
from headrace.matching.members import Member, Register

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from headrace.events.event import Event
    from headrace.filters.filter import Filter
    from headrace.matching.scope import Scope

Entry: TypeAlias = "tuple[str, Filter] | tuple[str, Filter, Scope | None]"

PAIRS = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("subscription", pa.string(), nullable=False),
    ]
)
"""One row per match: the log position of the event and the id of the subscription that wants it."""

_by_order = attrgetter("order")


class Matcher:
    """The subscriptions, ready to be asked who wants an event.

    Belongs to one thread: adding, removing and matching must not overlap. What is added or removed counts
    from the next call on. Answers list subscriptions in the order in which they were added.

    A subscription with a scope is found only by events that the log holds, `Recorded` or in an Arrow batch: a
    bare `Event` has neither channel nor position, so only subscriptions without a scope see it.
    """

    def __init__(self) -> None:
        self._members: dict[str, Member] = {}
        self._register = Register()
        self._added = 0

    def __len__(self) -> int:
        return len(self._members)

    def __contains__(self, subscription: object) -> bool:
        return subscription in self._members

    def add(self, subscription: str, filter_: Filter, *, scope: Scope | None = None) -> None:
        """Add a subscription, in place of the one that has this id now."""
        if subscription in self:
            self.remove(subscription)
        member = Member(subscription, self._added, filter_, scope)
        self._register.insert(member)
        self._members[subscription] = member
        self._added += 1

    def add_many(self, entries: Iterable[Entry]) -> None:
        """Add subscriptions, given as `(id, filter)` or `(id, filter, scope)`."""
        for entry in entries:
            self.add(entry[0], entry[1], scope=entry[2] if len(entry) == 3 else None)

    def remove(self, subscription: str) -> None:
        """Remove a subscription; raises `NotFound` where there is none of this id."""
        member = self._members.pop(subscription, None)
        if member is None:
            raise NotFound("subscription", subscription)
        self._register.remove(member)

    def match(self, event: Event | Recorded) -> list[str]:
        """Return the ids of the subscriptions that want the event."""
        hits = self._hits(event) if isinstance(event, Recorded) else self._unscoped_hits(event)
        hits.sort(key=_by_order)
        return [member.subscription for member in hits]

    def match_batch(self, events: Sequence[Event | Recorded] | pa.RecordBatch) -> list[list[str]]:
        """Return for each event what `match` would."""
        return [self.match(event) for event in _rows(events)]

    def match_pairs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the matches of a batch of the log as rows of `PAIRS`, by position."""
        events = sorted(from_batch(batch), key=attrgetter("position"))
        pairs = [(event.position, subscription) for event in events for subscription in self.match(event)]
        columns = {
            "position": [position for position, _ in pairs],
            "subscription": [subscription for _, subscription in pairs],
        }
        return pa.RecordBatch.from_pydict(columns, schema=PAIRS)

    def _unscoped_hits(self, event: Event) -> list[Member]:
        return [
            member
            for shared in self._register.filters_of(None)
            if shared.filter_.matches(event)
            for member in shared.seen_from(None)
        ]

    def _hits(self, recorded: Recorded) -> list[Member]:
        channel = (recorded.arrival.namespace, recorded.arrival.channel)
        return [
            member
            for shared in self._register.filters_of(channel)
            if shared.filter_.matches(recorded)
            for member in shared.seen_from(channel)
            if member.scope is None or member.scope.admits(recorded)
        ]


def _rows(events: Sequence[Event | Recorded] | pa.RecordBatch) -> Sequence[Event | Recorded]:
    return from_batch(events) if isinstance(events, pa.RecordBatch) else events
