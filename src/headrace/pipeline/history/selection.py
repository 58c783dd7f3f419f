"""Which part of the history a query is about, before its filter is asked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.eventlog.archive.columns import EVENT_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pyspark.sql import Column

    from headrace.eventlog.archive.manifest import ArchivedFile
    from headrace.matching.scope import Scope

Span = tuple[int, int]
_LAST = (1 << 63) - 1


@dataclass(frozen=True, slots=True)
class HistorySelection:
    """A scope and half-open ranges; None means no restriction.

    `scope` is a channel, and perhaps a source and types. `positions` is a range within one partition or across all of
    them; `published` is in microseconds, `happened` in milliseconds of the event's own time.
    """

    scope: Scope | None = None
    positions: Span | None = None
    published: Span | None = None
    happened: Span | None = None

    def may_be_in(self, file: ArchivedFile) -> bool:
        """Say whether the file may have events of this extent."""
        if self.scope is not None and self.scope.address != (file.namespace, file.channel):
            return False
        if self.positions is not None and not any(
            overlap(self.positions, span) for span in file.spans.values()
        ):
            return False
        if self.published is not None and not overlap(self.published, _closed(file.published)):
            return False
        if self.happened is not None and (
            file.happened is None or not overlap(self.happened, _closed(file.happened))
        ):
            return False
        return self.scope is None or _may_have(file, self.scope)

    def column(self) -> Column:
        """Return the column that is true for the events of this extent, of comparisons that Parquet sees."""
        condition = F.lit(col=True)
        for each in self._conditions():
            condition = condition & each
        return condition

    def _conditions(self) -> Iterator[Column]:
        if self.scope is not None:
            yield F.col("namespace") == self.scope.namespace
            yield F.col("channel") == self.scope.channel
            if self.scope.source is not None:
                yield F.col("source") == self.scope.source
            if self.scope.types:
                yield F.col("type").isin(*self.scope.types)
        if self.positions is not None:
            yield _within(F.col("position"), self.positions)
        if self.published is not None:
            yield _between(F.col("publish_time"), self.published, 1)
        if self.happened is not None:
            yield _between(F.col(EVENT_TIME), self.happened, 1000)


def overlap(one: Span, other: Span) -> bool:
    """Say whether two ranges have anything in common."""
    return one[0] < other[1] and other[0] < one[1]


def _may_have(file: ArchivedFile, scope: Scope) -> bool:
    sources, types = (file.values.get(name) for name in ("source", "type"))
    if scope.source is not None and not (sources and sources.may_have(scope.source)):
        return False
    return not scope.types or (types is not None and any(map(types.may_have, scope.types)))


def _closed(extremes: Span) -> Span:
    return extremes[0], extremes[1] + 1


def _within(column: Column, span: Span) -> Column:
    # Compared with a number beyond the column's type, it would be converted, and Parquet not asked.
    first, last = (F.lit(min(each, _LAST)).cast("bigint") for each in (span[0], span[1] - 1))
    return (column >= first) & (column <= last)


def _between(column: Column, span: Span, micros: int) -> Column:
    first, after = (F.timestamp_micros(F.lit(each * micros).cast("bigint")) for each in span)
    return (column >= first) & (column < after)
