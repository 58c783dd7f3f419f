"""The log: partitions of events, in which positions increase and a position never changes its event."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from headrace.errors import LogExpired, LogUnavailable
from headrace.eventlog.damage import Damage, raise_damage
from headrace.events.positions import offset_of, partition_of
from headrace.group_commit import Room

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from headrace.events.positions import LogPosition
    from headrace.events.recorded import Arrival


class LogWriter(Protocol):
    """Gives events their positions. For one event loop."""

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Make the events durable, all or none, and return the position of the first.

        Returning means that they survive a crash; raising LogUnavailable means that nothing was stored.
        `size` is roughly their size in memory, for the bound on what may wait.
        """
        ...

    async def close(self) -> None:
        """Finish what was accepted, then refuse more."""
        ...


def room_for_events(most_bytes: int) -> Room:
    """Return what bounds the events that wait in a writer's memory; more are refused, never dropped later."""
    return Room(most_bytes, lambda waiting: LogUnavailable(f"{waiting} bytes wait to be stored already"))


class LogReader(Protocol):
    """Reads a log that another process may be writing. Sees only what is durable."""

    least_poll_seconds: float
    """How long to wait at least before asking for its end again."""

    least_gap: int
    """A gap of at most so many positions between wanted events is faster to read than to skip."""

    def start(self) -> LogPosition:
        """Return the log position before which nothing is kept any more."""
        ...

    def end(self) -> LogPosition:
        """Return the log position behind the last event of each partition: that of the next one."""
        ...

    def read(
        self, start: int, end: int, on_damage: Callable[[Damage], None] = raise_damage
    ) -> Iterator[pa.RecordBatch]:
        """Yield the events of positions [start, end) of one partition in order, in few large batches.

        Be careful: not every position has an event. Positions that can no longer be read are reported to `on_damage`,
        which may raise, and are skipped.
        """
        ...

    def reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return the end of the range of one partition that begins at `start` and holds at most `most_bytes`.

        It holds at least one event and ends at `end` at the latest.
        """
        ...

    def size(self, start: int, end: int) -> int:
        """Return roughly how many bytes the log takes for positions [start, end) of one partition."""
        ...


def read_remaining(
    log: LogReader, start: int, end: int, on_damage: Callable[[Damage], None]
) -> Iterator[pa.RecordBatch]:
    """Yield what the log still has of positions [start, end) of one partition; report what it removed as damage.

    Brokers remove events without knowing what is still to be done with them.
    """
    while start < end:
        try:
            for batch in log.read(start, end, on_damage):
                start = batch["position"][-1].as_py() + 1
                yield batch
        except LogExpired as error:
            first = min(log.start()[partition_of(start)], end)
            if first <= start:
                raise  # the log doesn't begin later, so this is another problem
            on_damage(Damage(start, first, None, offset_of(start), str(error)))
            start = first
        else:
            return
