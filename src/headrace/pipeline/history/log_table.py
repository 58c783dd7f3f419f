"""The events of the log as a Spark table, for batch queries: read and sent by the Python workers."""

from __future__ import annotations

import logging
from functools import partial
from itertools import pairwise
from typing import TYPE_CHECKING

import pyarrow.compute as pc
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.database.database import Database
from headrace.errors import HeadraceError
from headrace.eventlog.archive.columns import ARCHIVE_SCHEMA, largest_event, with_event_time
from headrace.eventlog.damage import raise_damage
from headrace.eventlog.location import cached_log, open_log
from headrace.events.batch import coalesce
from headrace.subscriptions.store.set_aside import Kind, SetAside
from headrace.subscriptions.store.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

    from headrace.eventlog.damage import Damage
    from headrace.events.positions import LogPosition
    from headrace.matching.scope import Channel
    from headrace.pipeline.history.selection import HistorySelection, Span

_log = logging.getLogger(__name__)
_ROWS_PER_TASK = 50_000


class LogTable:
    """The log at a location that `open_log` knows, as the history reads it."""

    def __init__(self, location: str, store: str | None = None) -> None:
        """`store` is the address of the store in which positions are set aside that can't be read."""
        self._location = location
        self._store = store
        self._reader = open_log(location)

    def start(self) -> LogPosition:
        """Return the cut before which nothing is kept any more."""
        return self._reader.start()

    def end(self) -> LogPosition:
        """Return the cut behind the last event."""
        return self._reader.end()

    def largest(self, positions: Span) -> int:
        """Return how many bytes an event of a range takes at most."""
        events = self._reader.read(*positions, partial(_set_aside, self._store))
        return max(map(largest_event, coalesce(events)), default=1)

    def frame(self, spark: SparkSession, ranges: Sequence[Span], extent: HistorySelection) -> DataFrame:
        """Return the events of these ranges of positions, of the extent's channel if it has one.

        Tasks are numbers, and workers that live on read what a number stands for. A data source of Python's would
        start a process for each query, which takes a second.
        """
        tasks = [task for start, end in ranges for task in _tasks(start, end)]
        channel = None if extent.scope is None else extent.scope.address
        numbers = spark.range(0, len(tasks), 1, len(tasks))
        return numbers.mapInArrow(
            _reading(self._location, self._store, tasks, channel), from_arrow_schema(ARCHIVE_SCHEMA)
        )


def _tasks(start: int, end: int) -> Iterator[Span]:
    return pairwise([*range(start, end, _ROWS_PER_TASK), end])


def _reading(
    location: str, store: str | None, tasks: Sequence[Span], channel: Channel | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    def read(numbers: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in numbers:
            for number in batch["id"].to_pylist():
                start, end = tasks[number]
                yield from read_events(location, start, end, channel, partial(_set_aside, store))

    return read


def read_events(
    location: str,
    start: int,
    end: int,
    channel: Channel | None,
    on_damage: Callable[[Damage], None] = raise_damage,
) -> Iterator[pa.RecordBatch]:
    """Yield the events of positions [start, end), of one channel or of all, with their `event_time`."""
    for batch in coalesce(cached_log(location).read(start, end, on_damage)):
        wanted = batch if channel is None else _of_channel(batch, *channel)
        if wanted.num_rows:
            yield with_event_time(wanted)


def _set_aside(store_url: str | None, damage: Damage) -> None:
    """Write down what a query goes on without; where the store can't be reached, it is at least logged."""
    _log.error("positions %d to %d are left out: %s", damage.start, damage.end - 1, damage.reason())
    if store_url is None:
        return
    try:
        with Database(store_url) as database:
            Store(database).set_aside([SetAside(Kind.DAMAGE, damage.start, damage.end, damage.reason())])
    except HeadraceError as error:
        _log.error("that isn't written down: %s", error)


def _of_channel(batch: pa.RecordBatch, namespace: str, channel: str) -> pa.RecordBatch:
    return batch.filter(pc.and_(pc.equal(batch["namespace"], namespace), pc.equal(batch["channel"], channel)))
