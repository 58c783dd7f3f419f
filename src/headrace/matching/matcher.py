"""Which subscriptions want an event."""

from __future__ import annotations

import secrets
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.errors import NotFound
from headrace.events.batch import Recorded
from headrace.matching.catalogue import Catalogue
from headrace.matching.extraction import Extract
from headrace.matching.fields import Fields
from headrace.matching.index.draft import draft
from headrace.matching.index.ragged import places
from headrace.matching.levels import level_of_draft
from headrace.matching.members import Members
from headrace.matching.residual import settle
from headrace.matching.runs import Run, runs_of_batch, runs_of_events
from headrace.matching.settings import BloomSettings

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import numpy.typing as npt

    from headrace.events.event import Event
    from headrace.filters.filter import Filter
    from headrace.filters.ir.operands import Operand
    from headrace.matching.index.level import Level
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

_MEMBER = 0xFFFFFFFF
_NOBODY = np.empty(0, np.int64)

_TIP = 512
"""So many members at the end are built anew with each addition: small enough to take a millisecond."""

_GROWTH = 4
"""A level is joined with the one before it, unless that has more than so many times its members."""


@dataclass(frozen=True, slots=True)
class _Layer:
    """A level over the members from first on and before last."""

    level: Level
    first: int
    last: int

    @property
    def size(self) -> int:
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class _Plan:
    """How the events of a channel are asked about: the fields, and for each level's groups their columns."""

    layers: tuple[_Layer, ...]
    fields: Fields
    steps: tuple[tuple[Level, int, Numbers], ...]


class Matcher:
    """The subscriptions, ready to be asked who wants an event.

    Any number of threads may match while one adds or removes: what is added or removed counts from the next call on,
    and nobody waits for an index to be merged. Answers list subscriptions in the order in which they were added.

    A subscription with a scope is found only by events that the log holds, `Recorded` or in an Arrow batch: a
    bare `Event` has neither channel nor position, so only subscriptions without a scope see it.
    """

    def __init__(self, bloom: BloomSettings | None = None) -> None:
        self._bloom = bloom or BloomSettings()
        self._seed = secrets.randbits(64)
        self._writing = threading.Lock()
        self._catalogue = Catalogue()
        self._members = Members()
        self._layers: tuple[_Layer, ...] = ()
        self._plans: dict[Channel | None, _Plan] = {}

    def __len__(self) -> int:
        return len(self._members.numbers)

    def __contains__(self, subscription: object) -> bool:
        return subscription in self._members.numbers

    def add(self, subscription: str, filter_: Filter, *, scope: Scope | None = None) -> None:
        """Add a subscription, in place of the one that has this id now."""
        with self._writing:
            self._members.remove(subscription)
            self._catalogue.add(filter_, scope)
            self._members.add(subscription, filter_, scope)

    def add_many(self, entries: Iterable[Entry]) -> None:
        """Add subscriptions, given as `(id, filter)` or `(id, filter, scope)`."""
        for entry in entries:
            self.add(entry[0], entry[1], scope=entry[2] if len(entry) == 3 else None)

    def remove(self, subscription: str) -> None:
        """Remove a subscription; raises `NotFound` where there is none of this id."""
        with self._writing:
            if not self._members.remove(subscription):
                raise NotFound("subscription", subscription)

    def match(self, event: Event | Recorded) -> list[str]:
        """Return the ids of the subscriptions that want the event."""
        return self.match_batch((event,))[0]

    def match_batch(self, events: Sequence[Event | Recorded] | pa.RecordBatch) -> list[list[str]]:
        """Return for each event what `match` would."""
        count = events.num_rows if isinstance(events, pa.RecordBatch) else len(events)
        rows, members = self._pairs(events)
        ids = self._members.ids
        found = [ids[member] for member in members.tolist()]
        ends = np.searchsorted(rows, np.arange(count + 1)).tolist()
        return [found[ends[row] : ends[row + 1]] for row in range(count)]

    def match_pairs(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """Return the matches of a batch of the log as rows of `PAIRS`, by position."""
        rows, members = self._pairs(batch)
        positions = batch["position"].to_numpy()[rows]
        if len(positions) and (np.diff(positions) < 0).any():
            order = np.argsort(positions, kind="stable")
            positions, members = positions[order], members[order]
        numbers = pa.array(members.astype(np.int32))
        subscriptions = pa.DictionaryArray.from_arrays(numbers, self._members.names(), safe=False)
        return pa.RecordBatch.from_arrays([pa.array(positions, pa.int64()), subscriptions], schema=PAIRS)

    @property
    def bloom(self) -> BloomSettings:
        """The settings of the Bloom filters."""
        return self._bloom

    def live_level(self, channel: Channel | None) -> tuple[Level, list[Operand]]:
        """Build a level of who is subscribed now to a channel or without a scope; with it, the operands of its slots."""
        with self._writing:
            members = self._members.alive(0, len(self._members))
            scopes = self._members.scopes
            wanted = [m for m in members.tolist() if (s := scopes[m]) is None or s.address == channel]
            drafted = draft(self._catalogue, np.array(wanted, np.int64))
        level = level_of_draft(drafted, self._catalogue, self._seed, self._bloom)
        return level, [self._catalogue.operands[number] for number in level.slot_operand.tolist()]

    def _pairs(self, events: Sequence[Event | Recorded] | pa.RecordBatch) -> tuple[Numbers, Numbers]:
        """Return rows and members that match, ordered by both."""
        of_batch = isinstance(events, pa.RecordBatch)
        layers = self._current()
        found = [self._found(run, layers) for run in (runs_of_batch if of_batch else runs_of_events)(events)]
        if len(found) == 1:
            return found[0]
        rows = np.concatenate([_NOBODY, *(each[0] for each in found)])
        members = np.concatenate([_NOBODY, *(each[1] for each in found)])
        order = np.argsort(rows, kind="stable")
        return rows[order], members[order]

    def _found(self, run: Run, layers: tuple[_Layer, ...]) -> tuple[Numbers, Numbers]:
        plan = self._plan(run.channel, layers)
        if not plan.steps:
            return _NOBODY, _NOBODY
        extract = run.extract(plan.fields)
        pairs = []
        for level, group, columns in plan.steps:
            found = level.walk(extract, group, columns)
            pairs.append(found.matches)
            if len(found.candidates):
                pairs[-1] = np.union1d(found.matches, self._settled(run, level, found.candidates))
        joined = np.sort(np.concatenate(pairs))
        rows, members = joined >> 32, joined & _MEMBER
        seen = self._members.seeing(members, run.positions, rows)
        if seen is not None:
            rows, members = rows[seen], members[seen]
        return run.rows[rows], members

    def _settled(self, run: Run, level: Level, candidates: Numbers) -> Numbers:
        """Return the matches among candidates, as pairs of row and member, each once."""
        tables = level.tables
        rows, alternatives = candidates >> 32, candidates & _MEMBER
        holds = settle(run, rows, level.rests_of(alternatives), self._catalogue.rests)
        found = np.unique((rows[holds] << 32) | level.forms_of(alternatives[holds]))
        forms = found & _MEMBER
        starts, ends = tables.form_at[forms], tables.form_at[forms + 1]
        return np.repeat(found & ~_MEMBER, ends - starts) | tables.form_member[places(starts, ends)]

    def _plan(self, channel: Channel | None, layers: tuple[_Layer, ...]) -> _Plan:
        plan = self._plans.get(channel)
        if plan is None or plan.layers is not layers:
            plan = self._plans[channel] = self._make_plan(channel, layers)
        return plan

    def _make_plan(self, channel: Channel | None, layers: tuple[_Layer, ...]) -> _Plan:
        groups = [
            (layer.level, layer.level.groups[each])
            for layer in layers
            for each in dict.fromkeys((channel, None))
            if each in layer.level.groups
        ]
        numbers = np.unique(np.concatenate([np.empty(0, np.int64), *(lv.operands_of(g) for lv, g in groups)]))
        operands = [self._catalogue.operands[number] for number in numbers.tolist()]
        with_elements = frozenset(
            self._catalogue.operands[number] for lv, g in groups for number in lv.operands_with_elements(g).tolist()
        )
        steps = [(lv, g, np.searchsorted(numbers, lv.operands_of(g)).astype(np.int64)) for lv, g in groups]
        return _Plan(layers, Fields.of(operands, with_elements), tuple(steps))

    def _current(self) -> tuple[_Layer, ...]:
        """Return levels over all members, built now where some are new."""
        layers = self._layers
        if (layers[-1].last if layers else 0) == len(self._members):
            return layers
        with self._writing:
            self._layers = layers = self._with_new(self._layers, len(self._members))
        return layers

    def _with_new(self, layers: tuple[_Layer, ...], count: int) -> tuple[_Layer, ...]:
        first = layers[-1].last if layers else 0
        while layers and (count - layers[-1].first <= _TIP or layers[-1].size <= _GROWTH * (count - first)):
            first = layers[-1].first
            layers = layers[:-1]
        members = self._members.alive(first, count)
        level = level_of_draft(draft(self._catalogue, members), self._catalogue, self._seed, self._bloom)
        return (*layers, _Layer(level, first, count))
