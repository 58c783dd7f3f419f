"""Events as the log holds them, all published at the same moment."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.events.batch import to_batch
from headrace.events.recorded import Arrival, Recorded

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.events.event import Event

_PUBLISHED = 1_767_225_600_000_000


def batches(events: Sequence[Event], rows: int) -> Iterator[pa.RecordBatch]:
    """Yield the events in Arrow batches of so many rows, the last one maybe smaller."""
    arrivals = [Arrival(event, "default", "default") for event in events]
    for first in range(0, len(arrivals), rows):
        yield to_batch(arrivals[first : first + rows], first, _PUBLISHED)


def recorded(event: Event, position: int) -> Recorded:
    """Return one event with its place in the log."""
    return Recorded(position, _PUBLISHED, Arrival(event, "default", "default"))
