"""What a log is: positions are gapless, increasing, and never change their event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.events.batch import Arrival


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

    def start(self) -> int:
        """Return the first position that is still kept."""
        ...

    def end(self) -> int:
        """Return the position the next event will get. Be careful: the last event's position is one less."""
        ...

    def read(self, start: int, end: int) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) in order, as few large batches."""
        ...
