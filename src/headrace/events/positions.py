"""Positions of events in a log: a partition and an offset within it.

A partition is an ordered sequence of events. The embedded log has one; a log in Kafka has one per partition of a topic.
A position packs partition and offset into one number, so that it fits a column and sorts within its partition.
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
MOST_PARTITIONS = 1 << (63 - OFFSET_BITS)


def position_at(partition: int, offset: int) -> int:
    """Return the position of an offset in a partition."""
    return partition << OFFSET_BITS | offset


def partition_of(position: int) -> int:
    """Return the partition that a position lies in."""
    return position >> OFFSET_BITS


def offset_of(position: int) -> int:
    """Return how far along its partition a position is."""
    return position & ((1 << OFFSET_BITS) - 1)


def partitions_of(positions: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return the partitions of many positions."""
    return positions >> OFFSET_BITS


class LogPosition(Mapping[int, int]):
    """A point in a log: per partition, the first position that doesn't lie before it. Frozen.

    A partition that isn't named begins behind the cut: nothing of it lies before. Cuts are only partly ordered: where
    each is ahead in another partition, neither `a <= b` nor `b <= a`.
    """

    __slots__ = ("_positions",)

    def __init__(self, positions: Mapping[int, int] | None = None) -> None:
        named = sorted((positions or {}).items())
        self._positions = {partition: position for partition, position in named if offset_of(position)}

    @classmethod
    def at(cls, *positions: int) -> Self:
        """Return the cut before these positions, each in another partition."""
        return cls({partition_of(position): position for position in positions})

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read what `to_json` wrote."""
        return cls(msgspec.json.decode(text, type=dict[int, int]))

    def to_json(self) -> str:
        """Write it as an object of partitions, `{"0": 5}`: the form in which it is stored."""
        return msgspec.json.encode(self._positions).decode()

    def __getitem__(self, partition: int) -> int:
        return self._positions.get(partition, position_at(partition, 0))

    def __iter__(self) -> Iterator[int]:
        return iter(self._positions)

    def __len__(self) -> int:
        return len(self._positions)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LogPosition) and self._positions == other._positions

    def __hash__(self) -> int:
        return hash(tuple(self._positions.items()))

    def __le__(self, other: LogPosition) -> bool:
        return all(position <= other[partition] for partition, position in self.items())

    def __repr__(self) -> str:
        return f"LogPosition({self._positions})"

    def __str__(self) -> str:
        """Say it as a person would: `5`, or `partition 0 at 5, partition 1 at 7`."""
        if not self.keys() - {0}:
            return str(self[0])
        return ", ".join(
            f"partition {partition} at {offset_of(position)}" for partition, position in self.items()
        )

    def is_behind(self, position: int) -> bool:
        """Tell whether the position lies before the cut."""
        return position < self[partition_of(position)]

    def are_behind(self, positions: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        """Tell it of many at once."""
        behind = np.zeros(len(positions), np.bool_)
        for partition, cut in self.items():
            behind |= (positions >= position_at(partition, 0)) & (positions < cut)
        return behind

    def join(self, other: LogPosition) -> LogPosition:
        """Return the cut behind which lies what is behind either."""
        return LogPosition(
            {partition: max(self[partition], other[partition]) for partition in self.keys() | other.keys()}
        )

    def meet(self, other: LogPosition) -> LogPosition:
        """Return the cut behind which lies what is behind both."""
        return LogPosition(
            {partition: min(self[partition], other[partition]) for partition in self.keys() & other.keys()}
        )

    def ranges_to(self, end: LogPosition) -> Iterator[tuple[int, int]]:
        """Yield the ranges of positions, one per partition, that lie before `end` and not before this cut."""
        return (
            (self[partition], position) for partition, position in end.items() if self[partition] < position
        )

    def count_to(self, end: LogPosition) -> int:
        """Return how many positions lie before `end` and not before this cut."""
        return sum(stop - start for start, stop in self.ranges_to(end))
