"""Every event that is still kept, as one Spark table: the archive's files, and of the log what they don't have.

A history is a view of one moment: the manifest is read first and the end of the log second, so that each event is in
exactly one of the two, however far the archiver gets meanwhile. Take a new one per query.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from pyspark.sql.pandas.types import from_arrow_schema

from headrace.eventlog.archive.columns import ARCHIVE_SCHEMA, EVENT_TIME, extension_column, schema_with
from headrace.eventlog.archive.manifest import ArchivedFile
from headrace.eventlog.archive.value_ranges import file_extremes
from headrace.eventlog.archive.verification import check_sizes
from headrace.events.positions import LogPosition
from headrace.filters.backends.extremes import asked_of_extremes, may_hold
from headrace.filters.backends.search import extensions_of, search_condition, without_extensions
from headrace.filters.backends.spark.archive import search_column
from headrace.filters.ir.expression import Constant
from headrace.pipeline.history.selection import HistorySelection, Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import SparkSession

    from headrace.eventlog.archive.manifest import Manifest
    from headrace.eventlog.archive.storage import Storage
    from headrace.filters import Filter
    from headrace.filters.ir.expression import Expression

_LOG_PART_ROWS = 200_000
_PATTERNS = re.compile(r"[\\*?{}\[\]]")


class HistoryLog(Protocol):
    """The log as batch queries read it."""

    def start(self) -> LogPosition:
        """Return the cut before which nothing is kept any more."""
        ...

    def end(self) -> LogPosition:
        """Return the cut behind the last event."""
        ...

    def largest(self, positions: Span) -> int:
        """Return how many bytes an event of a range takes at most."""
        ...

    def frame(self, spark: SparkSession, ranges: Sequence[Span], extent: HistorySelection) -> DataFrame:
        """Return the events of ranges of positions, at least those of the extent, in the archive's columns."""
        ...


@dataclass(frozen=True, slots=True)
class LogRange:
    """A range of positions that is read from the log."""

    positions: Span

    @property
    def rows(self) -> int:
        """How many events there are at most."""
        return self.positions[1] - self.positions[0]


HistoryPart = ArchivedFile | LogRange


class History:
    """The event table at one moment. For one thread at a time, like any DataFrame."""

    def __init__(self, spark: SparkSession, storage: Storage | None, log: HistoryLog) -> None:
        self.spark = spark
        self._storage = storage
        self._log = log
        self.manifest: Manifest | None = None if storage is None else storage.manifest()
        archived = LogPosition() if self.manifest is None else LogPosition(self.manifest.archived)
        self.end = log.end()
        self._log_ranges = tuple(archived.join(log.start()).ranges_to(self.end))

    def parts(self, extent: HistorySelection, filter_: Filter | None = None) -> list[HistoryPart]:
        """Return what has to be read for an extent, in order of position: files, then pieces of the log.

        Files in which the filter matches nothing, as far as the manifest tells, are left out.
        """
        files = () if self.manifest is None else self.manifest.files
        asked = Constant(value=True) if filter_ is None else asked_of_extremes(filter_.expression)
        found: list[HistoryPart] = [
            file for file in files if extent.may_be_in(file) and may_hold(asked, file_extremes(file))
        ]
        return found + [LogRange(piece) for span in self._log_ranges for piece in _pieces(span, extent)]

    def largest(self, extent: HistorySelection, filter_: Filter) -> int:
        """Return how many bytes an event of the extent that the filter matches takes at most."""
        parts = self.parts(extent, filter_)
        of_files = [part.largest for part in parts if isinstance(part, ArchivedFile)]
        of_log = [self._log.largest(part.positions) for part in parts if isinstance(part, LogRange)]
        return max([*of_files, *of_log], default=1)

    def events(
        self, extent: HistorySelection | None = None, parts: Iterable[HistoryPart] | None = None
    ) -> DataFrame:
        """Return the events of an extent, with the columns of the event table and `event_time`."""
        return self._read(extent or HistorySelection(), parts, None)

    def matching(
        self,
        filter_: Filter,
        extent: HistorySelection | None = None,
        parts: Iterable[HistoryPart] | None = None,
    ) -> DataFrame:
        """Return those of the events that a filter matches."""
        return self._read(extent or HistorySelection(), parts, filter_)

    def _read(
        self, extent: HistorySelection, parts: Iterable[HistoryPart] | None, filter_: Filter | None
    ) -> DataFrame:
        chosen = self.parts(extent, filter_) if parts is None else list(parts)
        files = [part for part in chosen if isinstance(part, ArchivedFile)]
        ranges = [part.positions for part in chosen if isinstance(part, LogRange)]
        frames = [self._archived(search) for search in _searches(files, filter_)]
        if ranges:
            frames.append(self._log.frame(self.spark, ranges, extent))
        if not frames:
            return self.spark.createDataFrame([], from_arrow_schema(ARCHIVE_SCHEMA))
        wanted = extent.column() if filter_ is None else extent.column() & filter_.column()
        return reduce(
            DataFrame.unionAll, (each.where(wanted).select(*ARCHIVE_SCHEMA.names) for each in frames)
        )

    def _archived(self, search: _Search) -> DataFrame:
        assert self._storage is not None  # noqa: S101  files come from its manifest
        check_sizes(self._storage, search.files)
        # The paths are names of files, and Spark takes them for patterns.
        paths = [_PATTERNS.sub(r"\\\g<0>", self._storage.uri(file.path)) for file in search.files]
        reader = self.spark.read.schema(from_arrow_schema(schema_with(search.names)))
        frame = reader.parquet(*paths)
        return frame.where(
            search_column(search.condition, lambda name: F.col(extension_column(name)), F.col(EVENT_TIME))
        )


class _Search(NamedTuple):
    """Files that are searched by the same columns."""

    files: list[ArchivedFile]
    names: list[str]
    condition: Expression


def _searches(files: Sequence[ArchivedFile], filter_: Filter | None) -> list[_Search]:
    """Ask an extension's column only of files in which each event that has the extension has it in the column."""
    condition = Constant(value=True) if filter_ is None else search_condition(filter_.expression)
    names = extensions_of(condition)
    sure = [file for file in files if not file.more_extensions or names <= set(file.extensions)]
    others = [file for file in files if file not in sure]
    searches = _Search(sure, sorted(names), condition), _Search(others, [], without_extensions(condition))
    return [search for search in searches if search.files]


def _pieces(span: Span, extent: HistorySelection) -> Iterator[Span]:
    first, behind = (0, 1 << 63) if extent.positions is None else extent.positions
    start, end = max(span[0], first), min(span[1], behind)
    return pairwise([*range(start, end, _LOG_PART_ROWS), end]) if start < end else iter(())
