"""What a log is: lanes of events, whose positions increase and never change their event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.eventlog.damage import refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from headrace.eventlog.damage import Damage
    from headrace.events.positions import Cut
    from headrace.events.recorded import Arrival


class LogWriter(Protocol):
    """The one place where events get their position. Used from one event loop."""

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Make the events durable, all or none, and return the position of the first.

        Returning means that they survive a crash; raising LogUnavailable means that nothing was stored.
        `size` is roughly what they weigh in memory, for the bound on what may wait.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted, then refuse more."""
        ...


class LogReader(Protocol):
    """Reads a log that another process may be writing. Sees only what is durable."""

    least_poll_seconds: float
    """How often it makes sense to ask for its end."""

    least_gap: int
    """So many positions between two that are wanted are rather read than jumped over."""

    def start(self) -> Cut:
        """Return the cut before which nothing is kept any more."""
        ...

    def end(self) -> Cut:
        """Return the cut behind the last event of each lane: where the next one will stand."""
        ...

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = refuse
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) of one lane in order, as few large batches.

        Be careful: not every position has to have an event. Positions that can't be read any more are told to
        `on_damage`, which may raise, and are left out.
        """
        ...

    def reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return where a range of one lane ends that begins at `start` and holds so many bytes: `end` at the latest.

        It holds one event at least.
        """
        ...

    def size(self, start: int, end: int) -> int:
        """Return roughly how many bytes the log takes for positions [start, end) of one lane."""
        ...
