"""How far the outbox and the replays have been settled."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from headrace.events.positions import LogPosition, partition_of, position_at

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import numpy.typing as npt

    from headrace.delivery.intake.replay import ReplayFeed
    from headrace.ledger.ledger import Key


class Reach(NamedTuple):
    """The numbers below which everything is settled, and below which everything has begun."""

    settled: int
    begun: int


class Progress:
    """Counts what is under way per number. Numbers come in increasing order; one event loop.

    Be careful: `settled()` may only pass a number when each of its deliveries was acknowledged or is durable
    elsewhere. `begin` every delivery of a range before `read_to` says that the range has been read.
    """

    def __init__(self, cursor: int) -> None:
        self._read_to = cursor
        self._under_way: dict[int, int] = {}  # in order of number, since that is the order of `begin`

    def begin(self, number: int, count: int = 1) -> None:
        """So many more deliveries of the event of this number are under way."""
        self._under_way[number] = self._under_way.get(number, 0) + count

    def read_to(self, end: int) -> None:
        """All deliveries of numbers below `end` have begun."""
        self._read_to = end

    def settle(self, number: int) -> None:
        """One delivery of the event of this number needs nothing more from where it was read."""
        left = self._under_way[number] - 1
        if left:
            self._under_way[number] = left
        else:
            del self._under_way[number]

    @property
    def read(self) -> int:
        """The number below which everything has begun."""
        return self._read_to

    def settled(self) -> int:
        """Return the number below which nothing is under way."""
        return min(next(iter(self._under_way), self._read_to), self._read_to)


class PartitionProgress:
    """The same for the partitions of a log: each goes on by itself, in increasing order of positions."""

    def __init__(self, cursor: LogPosition) -> None:
        self._partitions = {partition: Progress(position) for partition, position in cursor.items()}

    def begin(self, position: int, count: int = 1) -> None:
        """So many more deliveries of the event at this position are under way."""
        self._partition(partition_of(position)).begin(position, count)

    def begin_all(self, positions: npt.NDArray[np.int64]) -> None:
        """Do the same for one delivery of each of these; one that is named twice has two."""
        for position, count in zip(*(each.tolist() for each in np.unique_counts(positions)), strict=True):
            self.begin(position, count)

    def read_to(self, end: LogPosition) -> None:
        """All deliveries of positions before `end` have begun."""
        for partition, position in end.items():
            self._partition(partition).read_to(position)

    def settle(self, position: int) -> None:
        """One delivery of the event at this position needs nothing more from the outbox."""
        self._partitions[partition_of(position)].settle(position)

    def settle_all(self, positions: Iterable[int]) -> None:
        """Do the same for each of these."""
        for position in positions:
            self._partitions[partition_of(position)].settle(position)

    def read(self) -> LogPosition:
        """Return the cut before which everything has begun."""
        return LogPosition({partition: progress.read for partition, progress in self._partitions.items()})

    def settled(self) -> LogPosition:
        """Return the cut before which nothing is under way."""
        return LogPosition(
            {partition: progress.settled() for partition, progress in self._partitions.items()}
        )

    def _partition(self, partition: int) -> Progress:
        if partition not in self._partitions:
            self._partitions[partition] = Progress(position_at(partition, 0))
        return self._partitions[partition]


class DeliveryProgress:
    """All that a dispatcher has begun: of the log, and of each replay under way."""

    def __init__(self, cursor: LogPosition) -> None:
        self.log = PartitionProgress(cursor)
        self.replays: dict[str, ReplayFeed] = {}

    def settle(self, key: Key) -> None:
        """A delivery needs nothing more from where it was read. One of a replay that is over makes no difference."""
        if not key.replay:
            self.log.settle(key.position)
        elif feed := self.replays.get(key.replay):
            feed.settle(key.position)

    def reaches(self) -> Mapping[str, Reach]:
        """Return how far each replay is."""
        return {replay: feed.reach() for replay, feed in self.replays.items()}
