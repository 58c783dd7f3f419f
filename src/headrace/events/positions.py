"""Where an event stands in a log: in which lane, and how far along it.

A lane is a sequence of events in order: what Kafka calls a partition of a topic. The embedded log is one lane.
A position is one number for both, so that it fits a column and sorts within its lane.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Self

import msgspec
import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    import numpy.typing as npt

OFFSET_BITS = 44
MOST_LANES = 1 << (63 - OFFSET_BITS)


def position_at(lane: int, offset: int) -> int:
    """Return the position of an offset in a lane."""
    return lane << OFFSET_BITS | offset


def lane_of(position: int) -> int:
    """Return the lane that a position lies in."""
    return position >> OFFSET_BITS


def offset_of(position: int) -> int:
    """Return how far along its lane a position is."""
    return position & ((1 << OFFSET_BITS) - 1)


def lanes_of(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the lanes of many positions."""
    return positions >> OFFSET_BITS


class Cut(Mapping[int, int]):
    """A point in a log: per lane, the first position that doesn't lie before it. Frozen.

    A lane that isn't named begins behind the cut: nothing of it lies before. Cuts are only partly ordered: where
    each is ahead in another lane, neither `a <= b` nor `b <= a`.
    """

    __slots__ = ("_positions",)

    def __init__(self, positions: Mapping[int, int] | None = None) -> None:
        named = sorted((positions or {}).items())
        self._positions = {lane: position for lane, position in named if offset_of(position)}

    @classmethod
    def at(cls, *positions: int) -> Self:
        """Return the cut before these positions, each in another lane."""
        return cls({lane_of(position): position for position in positions})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        return cls(msgspec.json.decode(text, type=dict[int, int]))

    def to_json(self) -> str:
        """Write it as an object of lanes, `{"0": 5}`: the form in which it is stored."""
        return msgspec.json.encode(self._positions).decode()

    def __getitem__(self, lane: int) -> int:
        return self._positions.get(lane, position_at(lane, 0))

    def __iter__(self) -> Iterator[int]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Cut) and self._positions == other._positions

    def __hash__(self) -> int:
        return hash(tuple(self._positions.items()))

    def __le__(self, other: Cut) -> bool:
        return all(position <= other[lane] for lane, position in self.items())

    def __repr__(self) -> str:
        return f"Cut({self._positions})"

    def __str__(self) -> str:
        """Say it as a person would: `5`, or `lane 0 at 5, lane 1 at 7`."""
        if not self.keys() - {0}:
            return str(self[0])
        return ", ".join(f"lane {lane} at {offset_of(position)}" for lane, position in self.items())

    def is_behind(self, position: int) -> bool:
        """Tell whether the position lies before the cut."""
        return position < self[lane_of(position)]

    def are_behind(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell it of many at once."""
        behind = np.zeros(len(positions), np.bool_)
        for lane, cut in self.items():
            behind |= (positions >= position_at(lane, 0)) & (positions < cut)
        return behind

    def join(self, other: Cut) -> Cut:
        """Return the cut behind which lies what is behind either."""
        return Cut({lane: max(self[lane], other[lane]) for lane in self.keys() | other.keys()})

    def meet(self, other: Cut) -> Cut:
        """Return the cut behind which lies what is behind both."""
        return Cut({lane: min(self[lane], other[lane]) for lane in self.keys() & other.keys()})

    def ranges_to(self, end: Cut) -> Iterator[tuple[int, int]]:
        """Yield the ranges of positions, one per lane, that lie before `end` and not before this cut."""
        return ((self[lane], position) for lane, position in end.items() if self[lane] < position)

    def count_to(self, end: Cut) -> int:
        """Return how many positions lie before `end` and not before this cut."""
        return sum(stop - start for start, stop in self.ranges_to(end))
