"""Who is in the index: subscriptions by number, in the order in which they were added."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from headrace.matching.growing import Growing

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

    from headrace.filters.filter import Filter
    from headrace.matching.scope import Scope

    Numbers = npt.NDArray[Any]

FOREVER = np.iinfo(np.int64).max


class Members:
    """Numbers are never given again, and who is removed keeps the number. One writer at a time; anyone reads."""

    def __init__(self) -> None:
        self.ids: list[str] = []
        self.filters: list[Filter] = []
        self.scopes: list[Scope | None] = []
        self.numbers: dict[str, int] = {}
        self.removed = 0
        self._names = Growing(np.uint8)
        self._name_ends = Growing(np.int32, [0])
        self._created = Growing(np.int64)
        self._deleted = Growing(np.int64)
        self._latest_created = 0
        self._bounded = False

    def __len__(self) -> int:
        return len(self.ids)

    def add(self, subscription: str, filter_: Filter, scope: Scope | None) -> None:
        """Add one whose id nobody has now."""
        self.numbers[subscription] = len(self.ids)
        self.ids.append(subscription)
        self._names.extend(np.frombuffer(subscription.encode(), np.uint8))
        self._name_ends.append(len(self._names))
        self.filters.append(filter_)
        self.scopes.append(scope)
        created = 0 if scope is None else scope.created
        deleted = FOREVER if scope is None or scope.deleted is None else scope.deleted
        self._latest_created = max(self._latest_created, created)
        self._bounded |= deleted != FOREVER
        self._created.append(created)
        self._deleted.append(deleted)

    def current(self) -> Iterator[tuple[str, Filter, Scope | None]]:
        """Yield those who are in when it is called, in the order in which they were added."""
        for number in tuple(self.numbers.values()):
            yield self.ids[number], self.filters[number], self.scopes[number]

    def names(self) -> pa.StringArray:
        """Return the ids by number, those of the removed too, without copying them."""
        buffers = [pa.py_buffer(each.view()) for each in (self._name_ends, self._names)]
        return pa.StringArray.from_buffers(len(self._name_ends) - 1, *buffers)

    def remove(self, subscription: str) -> bool:
        """Remove one; false where nobody has this id."""
        number = self.numbers.pop(subscription, None)
        if number is None:
            return False
        self._deleted.view()[number] = -1
        self.removed += 1
        return True

    def is_in(self, number: int) -> bool:
        """Say whether the member of this number wasn't removed."""
        return bool(self._deleted.view()[number] >= 0)

    def alive(self, first: int, last: int) -> Numbers:
        """Return the numbers from first on and before last of those who weren't removed."""
        return first + np.flatnonzero(self._deleted.view()[first:last] >= 0)

    def seeing(self, members: Numbers, positions: Numbers, rows: Numbers) -> npt.NDArray[np.bool_] | None:
        """Say for pairs of member and row whether the member sees the row's position; None where all do.

        A row whose position is -1 isn't of the log.
        """
        if not self.removed and not self._bounded and positions.min(initial=FOREVER) >= self._latest_created:
            return None
        positions = positions[rows]
        created, deleted = self._created.view()[members], self._deleted.view()[members]
        seen = (created <= positions) & (positions < deleted)
        seen |= (positions < 0) & (deleted >= 0)
        return seen
