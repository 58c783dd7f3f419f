"""The stream source: from ranges of log positions to planned deliveries, without the events themselves.

Matching is part of reading: a batch passes one Python worker, not one to read and another to match. The driver only
registers the source. What plans and what matches is therefore imported where that happens, in other processes: the
driver needs none of the compiler's memory.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.events.positions import LogPosition
from headrace.pipeline.route.offsets import Offset, cut_of, offset_at
from headrace.pipeline.route.plan import PLAN
from headrace.pipeline.spark.cluster import check_version

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

    from headrace.pipeline.route.planner import Planner


class LogSource(DataSource):
    """`spark.readStream.format("headrace")`; the options are those that `route` gives."""

    @classmethod
    def name(cls) -> str:
        """Return what `format(...)` calls it."""
        return "headrace"

    def schema(self) -> str:
        """Return the columns of a plan."""
        return PLAN

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """Make the reader."""
        return _Reader(self.options)


class _Reader(DataSourceStreamReader):
    """An offset is a cut and a count of ticks; a tick is a batch without events that keeps workers alive.

    Spark sends copies of it to the workers, which only `read`; what it needs for planning stays behind.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options}

    @cached_property
    def _planner(self) -> Planner:
        from headrace.pipeline.route.planner import Planner

        return Planner(self._options)

    def initialOffset(self) -> Offset:  # noqa: N802
        """Begin where the outbox ends. Spark's checkpoint is new at every start, so this is always asked."""
        return offset_at(LogPosition.from_json(self._options["begin"]), 0)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802
        """Return the end of the next batch, waiting a while for events to arrive."""
        return self._planner.next_end(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Cut the batch into tasks of one size for each shard, with the subscriptions as they are now."""
        return [InputPartition(task) for task in self._planner.tasks(cut_of(start), cut_of(end))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Match the ranges of a task. Runs in a worker."""
        from headrace.pipeline.route.worker import match_ranges

        check_version(self._options["version"])
        return match_ranges(*partition.value)
