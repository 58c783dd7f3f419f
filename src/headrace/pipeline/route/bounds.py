"""From where in the log and up to where subscriptions hold, as far as a batch may touch it.

Most subscriptions began before anything that is still to be routed and have no end: they have no bounds here.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import msgspec
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.positions import Cut, lanes_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

_NEVER = np.iinfo(np.int64).max


class Bound(msgspec.Struct, array_like=True, frozen=True):
    """The cuts between which a subscription holds, as JSON has them."""

    created: dict[int, int]
    deleted: dict[int, int] | None = None

    @classmethod
    def of(cls, created: Cut, deleted: Cut | None) -> Bound:
        """Take them from a subscription."""
        return cls(dict(created), None if deleted is None else dict(deleted))

    def has_begun(self, routed: Cut) -> bool:
        """Tell whether nothing that is still to be routed comes before the beginning."""
        return Cut(self.created) <= routed

    def has_ended(self, routed: Cut) -> bool:
        """Tell whether nothing that is still to be routed comes before the end."""
        return self.deleted is not None and Cut(self.deleted) <= routed


def last_of(bounds: Iterable[Bound]) -> Cut:
    """Return the cut at which all have begun and ended."""
    last: dict[int, int] = {}
    for bound in bounds:
        for lane, position in (*bound.created.items(), *(bound.deleted or {}).items()):
            last[lane] = max(last.get(lane, 0), position)
    return Cut(last)


class Bounds:
    """Drops the pairs of events that a subscription doesn't see. Made once per roster."""

    def __init__(self, bounds: Mapping[str, Bound]) -> None:
        self._bounds = dict(bounds)
        self._of_lanes: dict[int, npt.NDArray[np.int64]] = {}

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
        lanes = lanes_of(positions)
        for lane in np.unique(lanes).tolist():
            in_lane = lanes == lane
            created, deleted = self._of_lane(lane)[:, numbers[in_lane]]
            seen[in_lane] = (created <= positions[in_lane]) & (positions[in_lane] < deleted)
        return seen

    @cached_property
    def _ids(self) -> pa.Array:
        return pa.array(self._bounds, pa.string())

    def _of_lane(self, lane: int) -> npt.NDArray[np.int64]:
        """Return the beginnings and the ends in a lane; behind them stands one for who has no bounds."""
        if lane not in self._of_lanes:
            cuts = [
                (Cut(each.created)[lane], _NEVER if each.deleted is None else Cut(each.deleted)[lane])
                for each in self._bounds.values()
            ]
            self._of_lanes[lane] = np.array([*cuts, (0, _NEVER)], np.int64).T
        return self._of_lanes[lane]
