"""The log positions between which subscriptions hold.

Most subscriptions began before everything that is still to be routed and have no end: those have no bounds here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.positions import LogPosition, partitions_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

_NEVER = np.iinfo(np.int64).max


class Bound(msgspec.Struct, array_like=True, frozen=True):
    """The log positions between which a subscription holds, as JSON has them."""

    created: dict[int, int]
    deleted: dict[int, int] | None = None

    @classmethod
    def of(cls, created: LogPosition, deleted: LogPosition | None) -> Bound:
        """Return the bound of a subscription with these positions."""
        return cls(dict(created), None if deleted is None else dict(deleted))

    def has_begun(self, routed: LogPosition) -> bool:
        """Tell whether everything that is still to be routed is behind the subscription's beginning."""
        return LogPosition(self.created) <= routed

    def has_ended(self, routed: LogPosition) -> bool:
        """Tell whether everything that is still to be routed is behind the subscription's end."""
        return self.deleted is not None and LogPosition(self.deleted) <= routed


def last_of(bounds: Iterable[Bound]) -> LogPosition:
    """Return the log position at which all have begun and ended."""
    last: dict[int, int] = {}
    for bound in bounds:
        for partition, position in (*bound.created.items(), *(bound.deleted or {}).items()):
            last[partition] = max(last.get(partition, 0), position)
    return LogPosition(last)


class Bounds:
    """Filters out pairs of an event and a subscription that doesn't hold at its position. Made once per roster."""

    def __init__(self, bounds: Mapping[str, Bound]) -> None:
        self._bounds = dict(bounds)
        self._of_partitions: dict[int, npt.NDArray[np.int64]] = {}

    def keep(self, positions: pa.Array, subscriptions: pa.Array) -> tuple[pa.Array, pa.Array]:
        """Return the pairs that remain."""
        if not self._bounds or not len(positions):
            return positions, subscriptions
        numbers = pc.index_in(subscriptions, value_set=self._ids)
        if numbers.null_count == len(numbers):
            return positions, subscriptions
        seen = pa.array(self._seen(positions.to_numpy(), numbers.fill_null(len(self._ids)).to_numpy()))
        return positions.filter(seen), subscriptions.filter(seen)

    def _seen(
        self, positions: npt.NDArray[np.int64], numbers: npt.NDArray[np.int32]
    ) -> npt.NDArray[np.bool_]:
        seen = np.ones(len(positions), np.bool_)
        partitions = partitions_of(positions)
        for partition in np.unique(partitions).tolist():
            in_partition = partitions == partition
            created, deleted = self._of_partition(partition)[:, numbers[in_partition]]
            seen[in_partition] = (created <= positions[in_partition]) & (positions[in_partition] < deleted)
        return seen

    @cached_property
    def _ids(self) -> pa.Array:
        return pa.array(self._bounds, pa.string())

    def _of_partition(self, partition: int) -> npt.NDArray[np.int64]:
        """Return the beginnings and ends in a partition, followed by a pair for subscriptions without bounds."""
        if partition not in self._of_partitions:
            limits = [
                (
                    LogPosition(each.created)[partition],
                    _NEVER if each.deleted is None else LogPosition(each.deleted)[partition],
                )
                for each in self._bounds.values()
            ]
            self._of_partitions[partition] = np.array([*limits, (0, _NEVER)], np.int64).T
        return self._of_partitions[partition]
