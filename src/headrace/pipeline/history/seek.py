"""Where a filter first holds: the search goes through the history in order of position and stops at the first match."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.pipeline.history.scan import PartitionScan, Progress, no_progress, partition_scans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from headrace.filters import Filter
    from headrace.pipeline.history.history import History
    from headrace.pipeline.history.selection import HistorySelection

_FIRST_ROWS = 100_000
_GROWTH = 4


def first_match(
    history: History, extent: HistorySelection, filter_: Filter, progress: Progress = no_progress
) -> tuple[int, ...]:
    """Return the first position of the extent whose event the filter matches, one per partition that has any.

    Windows grow: a match near the start is found at once, and one far behind it with few queries. Whatever comes
    later in a partition stands behind its first match, events that are late by their own clock included.
    """
    ways = partition_scans(history, extent, filter_)
    total = sum(way.total for way in ways) or 1.0
    found, before = [], 0.0
    for way in ways:
        for end, position in _searched(history, way, filter_):
            progress((before + way.done(end)) / total)
            if position is not None:
                found.append(position)
                break
        before += way.total
    progress(1.0)
    return tuple(found)


def _searched(history: History, way: PartitionScan, filter_: Filter) -> Iterator[tuple[int, int | None]]:
    """Yield the end of each window and the first match in it, if there is one."""
    start, rows = way.start, _FIRST_ROWS
    while start < way.end:
        end = way.behind(start, rows)
        matching = history.matching(filter_, way.window(start, end))
        yield end, matching.agg(F.min("position")).collect()[0][0]
        start, rows = end, rows * _GROWTH
