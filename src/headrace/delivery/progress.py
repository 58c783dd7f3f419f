"""How far the outbox has been settled."""

from __future__ import annotations

from headrace.events.positions import Cut, lane_of, position_at


class Progress:
    """Counts what is under way per number. Numbers come in increasing order; one event loop.

    Be careful: `settled()` may only pass a number when each of its deliveries was acknowledged or is durable
    elsewhere. `begin` every delivery of a range before `read_to` says that the range has been read.
    """

    def __init__(self, cursor: int) -> None:
        self._read_to = cursor
        self._under_way: dict[int, int] = {}  # in order of number, since that is the order of `begin`

    def begin(self, number: int) -> None:
        """One more delivery of the event of this number is under way."""
        self._under_way[number] = self._under_way.get(number, 0) + 1

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

    def settled(self) -> int:
        """Return the number below which nothing is under way."""
        return min(next(iter(self._under_way), self._read_to), self._read_to)


class LaneProgress:
    """The same for the lanes of a log: each goes on by itself, in increasing order of positions."""

    def __init__(self, cursor: Cut) -> None:
        self._lanes = {lane: Progress(position) for lane, position in cursor.items()}

    def begin(self, position: int) -> None:
        """One more delivery of the event at this position is under way."""
        self._lane(lane_of(position)).begin(position)

    def read_to(self, end: Cut) -> None:
        """All deliveries of positions before `end` have begun."""
        for lane, position in end.items():
            self._lane(lane).read_to(position)

    def settle(self, position: int) -> None:
        """One delivery of the event at this position needs nothing more from the outbox."""
        self._lanes[lane_of(position)].settle(position)

    def settled(self) -> Cut:
        """Return the cut before which nothing is under way."""
        return Cut({lane: progress.settled() for lane, progress in self._lanes.items()})

    def _lane(self, lane: int) -> Progress:
        if lane not in self._lanes:
            self._lanes[lane] = Progress(position_at(lane, 0))
        return self._lanes[lane]
