"""Which subscriptions want an event."""

from __future__ import annotations

import secrets
import threading
import time
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.errors import NotFound
from headrace.matching.bloom.watch import BloomWatch
from headrace.matching.extraction.runs import runs_of_batch, runs_of_events
from headrace.matching.index.state import Index
from headrace.matching.levels import catalogue_of, level_of
from headrace.matching.pairs import NOBODY, members_of, pairs_of, spread
from headrace.matching.reports.explanation import explain_subscription
from headrace.matching.reports.nearest import MOST_FILTERS, why_not
from headrace.matching.reports.overruns import Overrun, Overruns
from headrace.matching.reports.statistics import Accounts
from headrace.matching.search import Search
from headrace.matching.settings import BloomSettings, CelSettings
from headrace.matching.snapshot import open_snapshot, write_snapshot

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    import numpy.typing as npt

    from headrace.events.event import Event
    from headrace.events.recorded import Recorded
    from headrace.filters.explanation import Explanation
    from headrace.filters.filter import Filter
    from headrace.matching.bloom.watch import BloomState
    from headrace.matching.index.level import Level
    from headrace.matching.reports.nearest import WhyNot
    from headrace.matching.reports.statistics import Statistics
    from headrace.matching.scope import Channel, Scope

    Numbers = npt.NDArray[Any]

Entry: TypeAlias = "tuple[str, Filter] | tuple[str, Filter, Scope | None]"

PAIRS = pa.schema(
    [
        pa.field("position", pa.int64(), nullable=False),
        pa.field("subscription", pa.dictionary(pa.int32(), pa.string()), nullable=False),
    ]
)
"""One row per match: the log position of the event and the id of the subscription that wants it."""


class Matcher:
    """The subscriptions, ready to be asked who wants an event.

    Any number of threads may match while one adds or removes: what is added or removed counts from the next call on,
    and nobody waits for an index to be merged. Answers list subscriptions in the order in which they were added.

    A subscription with a scope is found only by events that the log holds, `Recorded` or in an Arrow batch: a
    bare `Event` has neither channel nor position, so only subscriptions without a scope see it.
    """

    def __init__(self, bloom: BloomSettings | None = None, cel: CelSettings | None = None) -> None:
        self._cel = cel or CelSettings()
        self._accounts = Accounts()
        self._writing = threading.Lock()
        self._index = Index(secrets.randbits(64), bloom or BloomSettings())
        self._overruns = Overruns()
        self._watch = BloomWatch(self._index.bloom)
        self._search = Search(self._accounts, self._watch, self._overruns, self._cel)

    @classmethod
    def open(cls, path: Path, bloom: BloomSettings | None = None, cel: CelSettings | None = None) -> Matcher:
        """Open what `save` wrote: the file is mapped, not read, so that processes share it in memory.

        Raises `SnapshotRefused` where it isn't a whole snapshot of this version. What is added or removed later is
        in this matcher alone.
        """
        matcher = cls(bloom, cel)
        matcher._index = open_snapshot(path, matcher._index.bloom)
        return matcher

    def save(self, path: Path) -> None:
        """Write all subscriptions, ready to be matched against, to one file. Readers see all of it or none."""
        with self._writing:
            self._index.flush()
            write_snapshot(path, self._index)

    def __len__(self) -> int:
        return len(self._index.members.numbers)

    def __contains__(self, subscription: object) -> bool:
        return subscription in self._index.members.numbers

    def ids(self) -> set[str]:
        """Return the ids of all subscriptions."""
        return set(self._index.members.numbers)

    def add(self, subscription: str, filter_: Filter, *, scope: Scope | None = None) -> None:
        """Add a subscription, in place of the one that has this id now."""
        with self._writing:
            self._index.add(subscription, filter_, scope)
            self._tidy()

    def add_many(self, entries: Iterable[Entry]) -> None:
        """Add subscriptions, given as `(id, filter)` or `(id, filter, scope)`."""
        for entry in entries:
            self.add(entry[0], entry[1], scope=entry[2] if len(entry) == 3 else None)

    def remove(self, subscription: str) -> None:
        """Remove a subscription; raises `NotFound` where there is none of this id."""
        with self._writing:
            if not self._index.members.remove(subscription):
                raise NotFound("subscription", subscription)
            self._tidy()

    def match(self, event: Event | Recorded) -> list[str]:
        """Return the ids of the subscriptions that want the event."""
        return self.match_batch((event,))[0]

    def match_batch(self, events: Sequence[Event | Recorded] | pa.RecordBatch) -> list[list[str]]:
        """Return for each event what `match` would."""
        count = _count(events)
        index = self._index
        pairs = np.sort(self._pairs(index, events))
        ids = index.members.ids
        found = [ids[member] for member in members_of(pairs).tolist()]
        ends = np.searchsorted(pairs, pairs_of(np.arange(count + 1), 0)).tolist()
        return [found[ends[row] : ends[row + 1]] for row in range(count)]

    def match_pairs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the matches of a batch of the log as rows of `PAIRS`, by position."""
        index = self._index
        of_rows = batch["position"].to_numpy()
        positions, members = spread(self._pairs(index, batch), of_rows)
        if (np.diff(of_rows) < 0).any():
            order = np.argsort(positions, kind="stable")
            positions, members = positions[order], members[order]
        subscriptions = pa.DictionaryArray.from_arrays(pa.array(members), index.members.names(), safe=False)
        return pa.RecordBatch.from_arrays([pa.array(positions, pa.int64()), subscriptions], schema=PAIRS)

    def explain(self, event: Event | Recorded, subscription: str) -> Explanation:
        """Say why the subscription sees the event or doesn't; `NotFound` where there is none of this id."""
        members = self._index.members
        number = members.numbers.get(subscription)
        if number is None:
            raise NotFound("subscription", subscription)
        return explain_subscription(subscription, *members.entry(number), event)

    def why_not(self, event: Event | Recorded, limit: int = 5, *, filters: int = MOST_FILTERS) -> WhyNot:
        """Return the subscriptions that come nearest to matching the event without doing so, nearest first.

        Looks at those without a scope and those of the event's channel, in the order in which they were added, and
        evaluates at most `filters` distinct filters: the answer says how many subscriptions that leaves out.
        """
        return why_not(event, self._index.members.current(), limit, filters)

    def statistics(self) -> Statistics:
        """Return what was counted since the matcher was made."""
        return self._accounts.statistics()

    def publish(self) -> None:
        """Move what was counted since the last call to the metrics; call it once per batch."""
        self._accounts.publish()

    @property
    def bloom(self) -> BloomSettings:
        """The settings of the Bloom filters."""
        return self._index.bloom

    def bloom_states(self) -> dict[Channel | None, BloomState]:
        """Return, by channel, the version of its Bloom filter and how often it errs."""
        return self._watch.states()

    def live_level(self, channel: Channel | None) -> Level:
        """Build a level of who is subscribed now to a channel or without a scope."""
        with self._writing:
            entries = [
                (filter_, scope)
                for _, filter_, scope in self._index.members.current()
                if scope is None or scope.address == channel
            ]
        members = range(len(entries))
        return level_of(catalogue_of(entries), members, self._index.seed, self._index.bloom)

    def take_overruns(self) -> list[Overrun]:
        """Return whose filter cost too much on some event since the last call, and why."""
        return self._overruns.take()

    def settle_down(self) -> None:
        """Wait until the index is merged: for measurements, and before a long rest."""
        self._index.settle_down(self._writing)

    def _tidy(self) -> None:
        """Begin a new index where the old one is mostly about the removed. Whoever reads in the old one goes on."""
        if not self._index.is_wasteful:
            return
        old, new = self._index, Index(self._index.seed, self._index.bloom)
        old.flush()
        for number in old.members.alive(0, len(old.members)).tolist():
            new.add(old.members.ids[number], *old.members.entry(number))
        self._index = new

    def _pairs(self, index: Index, events: Sequence[Event | Recorded] | pa.RecordBatch) -> Numbers:
        """Return the pairs of row and member that match, ordered by row."""
        began = time.perf_counter()
        pairs = self._joined(index, events)
        self._accounts.matched(_count(events), len(pairs), time.perf_counter() - began)
        return pairs

    def _joined(self, index: Index, events: Sequence[Event | Recorded] | pa.RecordBatch) -> Numbers:
        of_batch = isinstance(events, pa.RecordBatch)
        view = index.current(self._writing, _count(events))
        runs = runs_of_batch(events) if of_batch else runs_of_events(events)
        found = [self._search.found(index, view, run) for run in runs]
        return found[0] if len(found) == 1 else np.sort(np.concatenate([NOBODY, *found]))


def _count(events: Sequence[Event | Recorded] | pa.RecordBatch) -> int:
    return events.num_rows if isinstance(events, pa.RecordBatch) else len(events)
