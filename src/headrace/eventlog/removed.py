"""Reading a range of which the log may have removed the beginning: brokers know nothing of what is still to be done."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.errors import LogExpired
from headrace.eventlog.damage import Damage
from headrace.events.positions import lane_of, offset_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import pyarrow as pa

    from headrace.eventlog.log import LogReader


def read_left(
    log: LogReader, start: int, end: int, on_damage: Callable[[Damage], None]
) -> Iterator[pa.RecordBatch]:
    """Yield what the log still has of positions [start, end) of one lane; what it removed is told like damage."""
    while start < end:
        try:
            for batch in log.read(start, end, on_damage):
                start = batch["position"][-1].as_py() + 1
                yield batch
        except LogExpired as error:
            first = min(log.start()[lane_of(start)], end)
            if first <= start:
                raise  # it isn't because the log begins later
            on_damage(Damage(start, first, None, offset_of(start), str(error)))
            start = first
        else:
            return
