"""Who is in the index: subscriptions by number, in the order in which they were added."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pyarrow as pa

from headrace.matching.pairs import members_of, rows_of
from headrace.matching.rules.arrays import Growing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import numpy.typing as npt

    from headrace.filters.filter import Filter
    from headrace.matching.scope import Scope

    Numbers = npt.NDArray[Any]

Entry: TypeAlias = "tuple[Filter, Scope | None]"

FOREVER = np.iinfo(np.int64).max


class Members:
    """Numbers are never given again, and who is removed keeps the number. One writer at a time; anyone reads.

    Who is replaced is in until the index knows the member that comes instead: a reader sees one of the two, always.
    """

    def __init__(
        self,
        names: Growing | None = None,
        name_ends: Growing | None = None,
        created: Growing | None = None,
        deleted: Growing | None = None,
        opened: Callable[[int], Entry] | None = None,
    ) -> None:
        """Begin with nobody, or with members whose filters and scopes `opened` returns by number."""
        self._names = names or Growing(np.uint8)
        self._name_ends = name_ends or Growing(np.int32, [0])
        self._created = created or Growing(np.int64)
        self._deleted = deleted or Growing(np.int64)
        self._gone = Growing.of(
            np.full(len(self._created), FOREVER)
        )  # once the index knows this many members
        self._opened = opened
        self._first = len(self._created)
        self._entries: list[Entry] = []
        self._latest_created = int(self._created.view().max(initial=0))
        self._bounded = bool((self._deleted.view() != FOREVER).any())
        self.removed = 0

    def __len__(self) -> int:
        return len(self._deleted)

    @cached_property
    def ids(self) -> list[str]:
        """The ids by number, those of the removed too."""
        ids: list[str] = self.names().to_pylist()
        return ids

    @cached_property
    def numbers(self) -> dict[str, int]:
        """The numbers of those who are in, by id."""
        return {self.ids[number]: number for number in self.alive(0, len(self)).tolist()}

    def add(self, subscription: str, filter_: Filter, scope: Scope | None) -> None:
        """Add one, in place of the one that has this id now."""
        name = subscription.encode()
        self._end(subscription, len(self) + 1)
        self.numbers[subscription] = len(self)
        self.ids.append(subscription)
        self._names.extend(name)
        self._name_ends.append(len(self._names))
        self._entries.append((filter_, scope))
        created = 0 if scope is None else scope.created
        deleted = FOREVER if scope is None or scope.deleted is None else scope.deleted
        self._latest_created = max(self._latest_created, created)
        self._bounded |= deleted != FOREVER
        self._created.append(created)
        self._gone.append(FOREVER)
        self._deleted.append(deleted)

    def remove(self, subscription: str) -> bool:
        """Remove one; false where nobody has this id."""
        return self._end(subscription, 0)

    def _end(self, subscription: str, known: int) -> bool:
        number = self.numbers.pop(subscription, None)
        if number is None:
            return False
        self._gone.flush()
        self.removed += 1
        self._gone.view()[number] = known
        return True

    def flush(self) -> None:
        """Let readers and levels see all that were added."""
        for each in (self._names, self._name_ends, self._created, self._deleted, self._gone):
            each.flush()

    def entry(self, number: int) -> Entry:
        """Return the filter and the scope of a member."""
        if number >= self._first:
            return self._entries[number - self._first]
        assert self._opened is not None  # noqa: S101 -- else there is none before the first
        return self._opened(number)

    def current(self) -> Iterator[tuple[str, Filter, Scope | None]]:
        """Yield those who are in when it is called, in the order in which they were added."""
        for number in tuple(self.numbers.values()):
            yield self.ids[number], *self.entry(number)

    def names(self) -> pa.StringArray:
        """Return the ids by number, those of the removed too, without copying them."""
        buffers = [pa.py_buffer(each.view()) for each in (self._name_ends, self._names)]
        return pa.StringArray.from_buffers(len(self._name_ends) - 1, *buffers)

    def alive(self, first: int, last: int) -> Numbers:
        """Return the numbers from first on and before last of those who weren't removed."""
        return first + np.flatnonzero(self._gone.view()[first:last] == FOREVER)

    def bounds(self, members: Numbers) -> tuple[Numbers, Numbers]:
        """Return the first positions that members see, and the first that they don't see any more."""
        return self._created.view()[members], self._deleted.view()[members]

    def seeing(self, pairs: Numbers, positions: Numbers, known: int) -> Numbers:
        """Return those of the pairs whose member sees its row's position.

        A row whose position is -1 isn't of the log. `known` is how many members the index knows.
        """
        if not self.removed and not self._bounded and positions.min(initial=FOREVER) >= self._latest_created:
            return pairs
        positions, members = positions[rows_of(pairs)], members_of(pairs)
        created, deleted = self.bounds(members)
        seen = ((created <= positions) & (positions < deleted)) | (positions < 0)
        return pairs[seen & (self._gone.view()[members] > known)]
