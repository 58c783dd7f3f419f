"""A level of the index: immutable tables over some members, and what it takes to walk them."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np

from headrace.matching.extraction.cells import STRING
from headrace.matching.index.build.ragged import indices
from headrace.matching.index.kernels.memo import new_memo
from headrace.matching.index.kernels.records import (
    COLUMN_OF_SLOTS,
    ROWS_UNDER_WAY,
    CellPointers,
    Counts,
    Lookup,
    RoomPointers,
    Row,
    TablePointers,
)
from headrace.matching.index.kernels.walk import match_rows
from headrace.matching.index.limits import Limits, lists_beyond
from headrace.matching.index.patterns import PatternSet
from headrace.matching.machine import address_of, addresses

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy.typing as npt

    from headrace.filters.ir.expression import Expression
    from headrace.filters.ir.operands import Operand
    from headrace.matching.extraction.extractor import Extract
    from headrace.matching.index.tables import Tables
    from headrace.matching.rules.checks import Pattern
    from headrace.matching.scope import Channel

    Numbers = npt.NDArray[Any]

_ROOM = 4096


@dataclass(slots=True)
class _Room:
    """Room for what a walk finds, and its memory of what an event has met already. Belongs to one walk at a time."""

    pairs: list[Numbers]  # matches, candidates
    seen: list[Numbers]  # forms, grams, the memo
    under_way: list[Numbers]  # rows, and what these point to: keys, lists, look-ups
    epoch: int = 0

    def widen(self) -> None:
        """Double the room; what is there stays."""
        for place, array in enumerate(self.pairs):
            wider = np.empty(2 * len(array), np.int64)
            wider[: len(array)] = array
            self.pairs[place] = wider


@dataclass(frozen=True, slots=True)
class Found:
    """Matches as pairs of row and member, candidates as pairs of row and alternative, and the kernel's counts."""

    matches: Numbers
    candidates: Numbers
    counts: Numbers


@dataclass(frozen=True, slots=True)
class Legend:
    """What the numbers of the tables stand for: groups, slots, and the lists that patterns lead to, by slot."""

    channels: tuple[Channel | None, ...]
    operands: tuple[Operand, ...]
    patterns: tuple[tuple[int, Pattern, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Level:
    """Immutable, except for room that walks leave to the next ones. Any number of threads may walk it."""

    tables: Tables
    legend: Legend
    rests: Sequence[Expression]
    groups: dict[Channel | None, int] = field(init=False)
    _limits: Limits = field(init=False)
    _patterns: dict[int, PatternSet] = field(init=False)
    _addresses: Numbers = field(init=False)
    _rooms: deque[_Room] = field(default_factory=deque)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_addresses", addresses(TablePointers, self.tables))
        object.__setattr__(self, "_limits", Limits.of(self.tables, self.legend))
        object.__setattr__(self, "groups", {each: group for group, each in enumerate(self.legend.channels)})
        by_slot: dict[int, list[tuple[Pattern, int]]] = {}
        for slot, pattern, list_ in self.legend.patterns:
            by_slot.setdefault(slot, []).append((pattern, list_))
        object.__setattr__(self, "_patterns", {slot: PatternSet(each) for slot, each in by_slot.items()})

    def operands_of(self, group: int) -> tuple[Operand, ...]:
        """Return the operands that a group's slots read."""
        return self.legend.operands[self._slots(group)]

    def operands_with_elements(self, group: int) -> set[Operand]:
        """Return those of the operands of which elements are looked up."""
        first = int(self.tables.group_at[group])
        operands = self.operands_of(group)
        wanted = self.tables.slot_elements[first : first + len(operands)]
        return {operand for operand, is_wanted in zip(operands, wanted, strict=True) if is_wanted}

    def has_patterns(self, slot: int) -> bool:
        """Say whether patterns are looked for in the texts of a slot."""
        return slot in self._patterns

    def rests_of(self, alternatives: Numbers) -> Numbers:
        """Return the numbers of the rests of alternatives."""
        rests: Numbers = self.tables.alternatives[alternatives, 2]
        return rests

    def forms_of(self, alternatives: Numbers) -> Numbers:
        """Return the forms that alternatives belong to."""
        forms: Numbers = self.tables.alternatives[alternatives, 6].astype(np.int64)
        return forms

    def sizes_of(self, forms: Numbers) -> Numbers:
        """Return how many members each of these forms has."""
        sizes: Numbers = self.tables.form_at[forms + 1] - self.tables.form_at[forms]
        return sizes

    def members_of(self, forms: Numbers) -> Numbers:
        """Return the members of these forms, one form after the other."""
        at = self.tables.form_at
        return self.tables.form_member[indices(at[forms], at[forms + 1])]

    def longest_cheap(self, group: int) -> int:
        """Return the length up to which no value is too long for a check of the group."""
        return self._limits.least(self._slots(group))

    def rows_too_dear(self, extract: Extract, group: int, columns: Numbers) -> Numbers:
        """Return the rows that may have a value that is too long for a check of the group."""
        return self._limits.rows_beyond(extract, self._slots(group), columns)

    def walk(self, extract: Extract, group: int, columns: Numbers, *, leniently: bool = False) -> Found:
        """Take every row through the group's part of the index; columns are those of the group's slots.

        A lenient walk takes a check for true where the value is too long for it.
        """
        room = self._rooms.pop() if self._rooms else self._new_room()
        arrays = self._input(extract, group, columns, leniently=leniently)
        cells = addresses(CellPointers, arrays)
        counts = np.zeros((), Counts.dtype)
        counts["epoch"], counts["mask"] = room.epoch, len(self.tables.cells) - 1
        counts["rows"], counts["width"] = extract.cells.kind.shape
        counts["lenient"] = leniently
        while True:
            counts["room"], counts["candidate_room"] = map(len, room.pairs)
            there = addresses(RoomPointers, (*room.pairs, *room.seen, *room.under_way[:2]))
            tables = address_of(self._addresses)
            match_rows(tables, address_of(cells), address_of(there), group, address_of(counts))
            if counts["next_row"] >= counts["rows"]:
                break
            room.widen()
        found = Found(
            room.pairs[0][: counts["matches"]].copy(), room.pairs[1][: counts["candidates"]].copy(), counts
        )
        room.epoch = int(counts["epoch"])
        self._rooms.append(room)
        return found

    def _new_room(self) -> _Room:
        marks = int(self.tables.alternatives[:, 3].max(initial=-1)) + 1
        grams = int(self.tables.gram_mark.max(initial=-1)) + 1
        slots = int(np.diff(self.tables.group_at).max(initial=0))
        lookups = slots + len(self.tables.start_length) + len(self.tables.end_length)
        of_marks, of_grams = np.zeros(marks, np.int64), np.zeros(grams, np.int64)
        memo = new_memo() if grams else [of_grams, of_grams]
        pairs = [np.empty(_ROOM, np.int64) for _ in range(2)]
        return _Room(
            pairs, [of_marks, of_grams, *memo], _under_way(COLUMN_OF_SLOTS + lookups, slots, lookups)
        )

    def _slots(self, group: int) -> slice:
        return slice(*self.tables.group_at[group : group + 2].tolist())

    def _input(
        self, extract: Extract, group: int, columns: Numbers, *, leniently: bool
    ) -> tuple[Numbers, ...]:
        """Return the arrays in the order in which the kernel names them."""
        cells, elements = extract.cells, extract.cells.elements
        return (
            cells.kind,
            cells.number,
            cells.start,
            cells.length,
            elements.kind,
            elements.number,
            elements.start,
            elements.length,
            extract.text,
            columns,
            *self._lists(extract, group, columns, leniently=leniently),
        )

    def _lists(
        self, extract: Extract, group: int, columns: Numbers, *, leniently: bool
    ) -> tuple[Numbers, Numbers]:
        """Return the lists that patterns lead each row to and, leniently, values that are too long for checks."""
        rows = len(extract.cells.kind)
        at = np.zeros(rows + 1, np.int64)
        found = self._found_patterns(extract, group, columns)
        if leniently:
            found.extend(lists_beyond(self.tables, self.legend, extract, self._slots(group), columns))
        if not found:
            return at, np.empty(0, np.int32)
        found.sort(key=itemgetter(0))
        at_rows, lists = zip(*found, strict=True)
        at[1:] = np.cumsum(np.bincount(at_rows, list(map(len, lists)), rows))
        return at, np.concatenate(lists)

    def _found_patterns(self, extract: Extract, group: int, columns: Numbers) -> list[tuple[int, Numbers]]:
        """Return rows with the lists that patterns found in a text lead to."""
        first = self.tables.group_at[group]
        found: list[tuple[int, Numbers]] = []
        for slot, patterns in self._patterns.items():
            local = slot - first
            if not 0 <= local < len(columns):
                continue
            column, text = columns[local], extract.text.data
            cells = extract.cells
            strings = np.flatnonzero(cells.kind[:, column] == STRING)
            starts = cells.start[strings, column].tolist()
            lengths = cells.length[strings, column].tolist()
            for row, start, length in zip(strings.tolist(), starts, lengths, strict=True):
                found.append((row, patterns.found_in(bytes(text[start : start + length]))))
        return found


def _under_way(columns: int, slots: int, lookups: int) -> list[Numbers]:
    """Make room for the rows under way, the first of what is returned, in the arrays behind it."""
    keys = np.zeros((ROWS_UNDER_WAY, columns), np.int64)
    lists = np.zeros((ROWS_UNDER_WAY, slots), np.int64)
    sought = np.zeros((ROWS_UNDER_WAY, lookups), Lookup.dtype)
    rows = np.zeros(ROWS_UNDER_WAY, Row.dtype)
    for name, array in (("keys", keys), ("lists", lists), ("lookups", sought)):
        rows[name] = address_of(array, f"Row.{name}") + np.arange(ROWS_UNDER_WAY) * array[0].nbytes
    return [rows, keys, lists, sought]
