"""How many past events a filter would have matched, when, and which were the last of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.events.batch import SCHEMA
from headrace.pipeline.history.scan import Progress, no_progress, partition_scans

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import DataFrame

    from headrace.filters import Filter
    from headrace.pipeline.history.history import History
    from headrace.pipeline.history.selection import HistorySelection

_WINDOW_ROWS = 500_000


@dataclass(frozen=True, slots=True)
class Bucket:
    """A stretch of publish time: its first microsecond, the events accepted in it, and those that match."""

    start: int
    events: int
    matched: int


@dataclass(frozen=True, slots=True)
class Backtest:
    """What a filter would have done. `examples` are the last events that match, in the event table's columns."""

    events: int
    matched: int
    bucket_seconds: float
    buckets: tuple[Bucket, ...]
    examples: pa.Table


def backtest(
    history: History,
    extent: HistorySelection,
    filter_: Filter,
    *,
    bucket_seconds: float,
    examples: int = 0,
    progress: Progress = no_progress,
) -> Backtest:
    """Ask a filter of all events of the extent, the newest first; buckets without events are left out."""
    width = int(bucket_seconds * 1_000_000)
    events: dict[int, int] = {}
    matched: dict[int, int] = {}
    shown: list[pa.Table] = []
    windows = list(_windows(history, extent))
    for number, window in enumerate(reversed(windows)):
        matching = history.matching(filter_, window)
        _count(history.events(window), width, events)
        found = _count(matching, width, matched)
        lacking = examples - sum(table.num_rows for table in shown)
        if found and lacking > 0:
            shown.append(_last(matching, lacking))
        progress((number + 1) / len(windows))
    return Backtest(
        sum(events.values()),
        sum(matched.values()),
        bucket_seconds,
        tuple(Bucket(each, count, matched.get(each, 0)) for each, count in sorted(events.items())),
        pa.concat_tables([SCHEMA.empty_table(), *reversed(shown)]),
    )


def _windows(history: History, extent: HistorySelection) -> Iterator[HistorySelection]:
    for way in partition_scans(history, extent):
        start = way.start
        while start < way.end:
            end = way.behind(start, _WINDOW_ROWS)
            yield way.window(start, end)
            start = end


def _count(frame: DataFrame, width: int, counts: dict[int, int]) -> int:
    """Add a window's events to the counts by bucket; return how many they are."""
    moment = F.unix_micros("publish_time")
    rows = frame.groupBy((moment - F.pmod(moment, F.lit(width))).alias("bucket")).count().collect()
    for start, count in rows:
        counts[start] = counts.get(start, 0) + count
    return sum(count for _, count in rows)


def _last(matching: DataFrame, most: int) -> pa.Table:
    last = matching.select(*SCHEMA.names).orderBy(F.desc("position")).limit(most)
    return last.toArrow().cast(SCHEMA).sort_by("position")
