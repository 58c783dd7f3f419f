"""Everything that matching knows: the catalogue, the members, and levels of the index over them."""

from __future__ import annotations

import sys
import threading
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching import background
from headrace.matching.delta import MOST_MEMBERS, Delta
from headrace.matching.extraction.fields import Fields
from headrace.matching.index.limits import UNLIMITED
from headrace.matching.levels import level_of
from headrace.matching.rules.catalogue import Catalogue
from headrace.matching.rules.members import Members

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from headrace.filters.filter import Filter
    from headrace.filters.ir.operands import Operand
    from headrace.matching.index.level import Level
    from headrace.matching.scope import Channel, Scope
    from headrace.matching.settings import BloomSettings

    Numbers = npt.NDArray[Any]

_SMALL = 64
"""A last level of fewer members is built anew with those who are added."""

_GROWTH = 4
"""A level is joined with the one before it, unless that has more than so many times its members."""

_KEPT_FIELDS = 256

_WASTE = 10_000
"""As long as fewer were removed, their traces aren't worth a rebuild."""


@dataclass(frozen=True, slots=True, eq=False)
class Layer:
    """A level over the members from first on and before last."""

    level: Level
    first: int
    last: int
    is_mapped: bool = False

    @property
    def size(self) -> int:
        """How many numbers it spans."""
        return self.last - self.first


@dataclass(frozen=True, slots=True)
class View:
    """What a reader sees: levels over the first members, without a gap, and the delta with all others before known."""

    layers: tuple[Layer, ...]
    delta: Delta
    known: int

    @classmethod
    def of(cls, layers: tuple[Layer, ...]) -> View:
        """See the members of these levels and nobody else."""
        last = layers[-1].last if layers else 0
        return cls(layers, Delta.after(last), last)


@dataclass(frozen=True, slots=True)
class Plan:
    """How the events of a channel are asked about: the fields, and for each level's groups their columns.

    No value up to the length `longest_cheap` is too long for any check.
    """

    layers: tuple[Layer, ...]
    fields: Fields
    steps: tuple[tuple[Level, int, Numbers], ...]
    longest_cheap: int


@dataclass(slots=True)
class Index:
    """One thread writes at a time (the matcher's lock sees to it), any number read.

    New members stand in the delta until a level is built over them. That and the joining of levels is done by a thread
    in the background, unless too much is asked of the delta at once; a view takes the place of the last in one step.
    """

    seed: int
    bloom: BloomSettings
    catalogue: Catalogue = field(default_factory=Catalogue)
    members: Members = field(default_factory=Members)
    view: View = field(default_factory=lambda: View.of(()))
    _plans: dict[Channel | None, Plan] = field(default_factory=dict)
    _swapping: threading.Lock = field(default_factory=threading.Lock)
    _joiner: threading.Thread | None = None
    _renewals: list[tuple[Layer, Callable[[Channel | None], None]]] = field(default_factory=list)

    def add(self, subscription: str, filter_: Filter, scope: Scope | None) -> None:
        """Add a member, in place of the one that has this id now."""
        self.catalogue.add(filter_, scope)
        self.members.add(subscription, filter_, scope)

    def flush(self) -> None:
        """Let all that was added be read."""
        self.catalogue.flush()
        self.members.flush()

    @property
    def is_wasteful(self) -> bool:
        """Whether most of it is about members that were removed."""
        return self.members.removed > max(_WASTE, 2 * len(self.members.numbers))

    def current(self, writing: threading.Lock, rows: int) -> View:
        """Return a view of all members, for so many rows."""
        view = self.view
        if view.delta.first == view.known == len(self.members):
            return view
        if view.known < len(self.members) or view.delta.is_too_dear(rows):
            with writing, self._swapping:
                view = self.view = self._grown(rows)
        self._join_later()
        return view

    def plan(self, channel: Channel | None, layers: tuple[Layer, ...]) -> Plan:
        """Return how a channel's events are asked about."""
        plan = self._plans.get(channel)
        if plan is None or plan.layers is not layers:
            plan = self._plans[channel] = _plan(channel, layers)
        return plan

    def renew(self, level: Level, done: Callable[[Channel | None], None]) -> None:
        """Build a level anew in the background, for those who are in now; `done` is called for each of its channels.

        One that is mapped from a file can't be: the next file will have a new one.
        """
        with self._swapping:
            layers = [each for each in self.view.layers if each.level is level and not each.is_mapped]
            self._renewals.extend((layer, done) for layer in layers)
        self._join_later()

    def settle_down(self, writing: threading.Lock) -> None:
        """Wait until levels have all members and none are being joined."""
        with writing, self._swapping:
            self.view = self._grown(sys.maxsize)
        self._join_later()
        joiner = self._joiner
        if joiner is not None:
            joiner.join()

    def _grown(self, rows: int) -> View:
        """Return a view of all members; the delta becomes a level where it has too many, or too many rows to serve."""
        self.flush()
        view, count = self.view, len(self.members)
        if count - view.delta.first <= MOST_MEMBERS:
            view.delta.file(self.catalogue, count)
            if not view.delta.is_too_dear(rows):
                return replace(view, known=count)
        return View.of(self._with_new(view.layers, count))

    def _with_new(self, layers: tuple[Layer, ...], count: int) -> tuple[Layer, ...]:
        last = layers[-1] if layers else None
        if last is not None and not last.is_mapped and count - last.first <= _SMALL:
            layers = layers[:-1]
        first = layers[-1].last if layers else 0
        return (*layers, self._layer(first, count))

    def _layer(self, first: int, last: int) -> Layer:
        members = self.members.alive(first, last)
        return Layer(level_of(self.catalogue, members, self.seed, self.bloom), first, last)

    def _join_later(self) -> None:
        if not self._has_work:
            return
        with self._swapping:
            if self._joiner is None or not self._joiner.is_alive():
                self._joiner = background.start(self._join, "headrace-join")

    @property
    def _has_work(self) -> bool:
        view = self.view
        return view.delta.is_worn or bool(self._renewals) or _to_join(view.layers) is not None

    def _join(self) -> None:
        """Build, join and renew levels for as long as some should be, each time beside the ones in use."""
        while self._has_work and not background.is_ending():
            renewals, self._renewals = self._renewals, []
            for layer, done in renewals:
                if self._swap((layer,), self._layer(layer.first, layer.last)):
                    for channel in layer.level.groups:
                        done(channel)
            view = self.view
            if view.delta.is_worn:
                self._push(view.delta, self._layer(view.delta.first, view.known))
            slot = _to_join(view.layers)
            if slot is not None:
                pair = view.layers[slot : slot + 2]
                self._swap(pair, self._layer(pair[0].first, pair[1].last))

    def _push(self, delta: Delta, layer: Layer) -> None:
        """Put a layer in the place of a delta, unless that is in use no more. Who came later is in the next delta."""
        with self._swapping:
            view = self.view
            if view.delta is delta:
                rest = Delta.after(layer.last)
                rest.file(self.catalogue, view.known)
                self.view = View((*view.layers, layer), rest, view.known)

    def _swap(self, old: tuple[Layer, ...], new: Layer) -> bool:
        """Put a layer in the place of others, unless these are in use no more."""
        with self._swapping:
            view = self.view
            if old[0] not in view.layers:
                return False
            slot = view.layers.index(old[0])
            if view.layers[slot : slot + len(old)] != old:
                return False
            layers = (*view.layers[:slot], new, *view.layers[slot + len(old) :])
            self.view = replace(view, layers=layers)
            return True


def _to_join(layers: tuple[Layer, ...]) -> int | None:
    """Return the place of two neighbours that should be one level, if there are such."""
    for slot in reversed(range(len(layers) - 1)):
        one, other = layers[slot], layers[slot + 1]
        if not one.is_mapped and other.size >= _SMALL // 2 and one.size <= _GROWTH * other.size:
            return slot
    return None


def _plan(channel: Channel | None, layers: tuple[Layer, ...]) -> Plan:
    groups = [
        (layer.level, layer.level.groups[each])
        for layer in layers
        for each in dict.fromkeys((channel, None))
        if each in layer.level.groups
    ]
    columns: dict[Operand, int] = {}
    for level, group in groups:
        for operand in level.operands_of(group):
            columns.setdefault(operand, len(columns))
    with_elements = frozenset().union(*(level.operands_with_elements(group) for level, group in groups))
    steps = tuple(
        (level, group, np.array([columns[each] for each in level.operands_of(group)], np.int64))
        for level, group in groups
    )
    longest_cheap = min((level.longest_cheap(group) for level, group in groups), default=UNLIMITED)
    return Plan(layers, _fields(tuple(columns), with_elements), steps, longest_cheap)


@lru_cache(_KEPT_FIELDS)
def _fields(operands: tuple[Operand, ...], with_elements: frozenset[Operand]) -> Fields:
    """Arrange fields once for all levels that ask for the same."""
    return Fields.of(operands, with_elements)
