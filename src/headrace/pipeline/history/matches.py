"""The events of a history that a filter matches, whole and in order of position, however many there are."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.events.batch import SCHEMA
from headrace.pipeline.history.scan import PartitionScan, Progress, no_progress, partition_scans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters import Filter
    from headrace.pipeline.history.history import History
    from headrace.pipeline.history.selection import HistorySelection

CHUNK_BYTES = 32 << 20
"""What one answer of Spark may hold."""
_MOST_ROWS = 20_000
_GROWTH = 4


def matching_events(
    history: History, extent: HistorySelection, filter_: Filter, progress: Progress = no_progress
) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Yield (position, events) partition by partition, in order of position, in the columns of the event table.

    Every match of the partition before `position` has been yielded, so that a reader may resume there. Some tuples have
    no events, since matches may be far apart.
    """
    ways = partition_scans(history, extent, filter_)
    total = sum(way.total for way in ways) or 1.0
    before = 0.0
    for way in ways:
        for position, events in _walked(history, way, filter_):
            progress((before + way.done(position)) / total)
            yield position, events
        before += way.total
    progress(1.0)


def _walked(history: History, way: PartitionScan, filter_: Filter) -> Iterator[tuple[int, pa.RecordBatch]]:
    """Windows follow the density of matches: they grow while answers are small, and shrink when one is cut off."""
    start, rows = way.start, float(_MOST_ROWS)
    while start < way.end:
        end = way.behind(start, rows)
        window = way.window(start, end)
        most = max(1, min(_MOST_ROWS, CHUNK_BYTES // history.largest(window, filter_)))
        events = _first(history, window, filter_, most)
        if events.num_rows == most:
            end = events["position"][-1].as_py() + 1
            rows = max(way.done(end) - way.done(start), 1.0)
        elif events.num_rows < most // _GROWTH:
            rows *= _GROWTH
        yield end, events
        start = end


def _first(history: History, window: HistorySelection, filter_: Filter, most: int) -> pa.RecordBatch:
    matching = history.matching(filter_, window).select(*SCHEMA.names)
    table = matching.orderBy("position").limit(most).toArrow().cast(SCHEMA).combine_chunks()
    batches = table.to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], SCHEMA)
