"""How far the outbox has been settled."""

from __future__ import annotations


class Progress:
    """Counts what is under way per event. Positions come in increasing order; one event loop.

    Be careful: `settled()` may only pass a position when each of its deliveries was acknowledged or is durable
    elsewhere. `begin` every delivery of a range before `read_to` says that the range has been read.
    """

    def __init__(self, cursor: int) -> None:
        self._read_to = cursor
        self._under_way: dict[int, int] = {}  # in order of position, since that is the order of `begin`

    def begin(self, position: int) -> None:
        """One more delivery of the event at this position is under way."""
        self._under_way[position] = self._under_way.get(position, 0) + 1

    def read_to(self, end: int) -> None:
        """All deliveries of positions below `end` have begun."""
        self._read_to = end

    def settle(self, position: int) -> None:
        """One delivery of the event at this position needs nothing more from the outbox."""
        left = self._under_way[position] - 1
        if left:
            self._under_way[position] = left
        else:
            del self._under_way[position]

    def settled(self) -> int:
        """Return the position below which nothing is under way."""
        return min(next(iter(self._under_way), self._read_to), self._read_to)
