"""The route: one Structured Streaming query from the log to the outbox.

What the outbox covers is the truth. Spark's checkpoint is never synced to disk, so it is thrown away at every
start, and the query begins where the outbox ends: a lost, torn or repeated batch changes nothing.
"""

from __future__ import annotations

import logging
import shutil
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec
import pyarrow.compute as pc

from headrace.errors import OutboxGap
from headrace.events.positions import Cut, lane_of
from headrace.matching.settings import MatchingSettings
from headrace.matching.warming import warm_up
from headrace.pipeline.reports import Reporter, overruns_in
from headrace.pipeline.session import Session
from headrace.pipeline.source import WARM_UP_TICKS, LogSource
from headrace.pipeline.worker import PLAN, match_pointers
from headrace.subscriptions.store import Store
from headrace.telemetry.metrics import BATCH_SECONDS, MATCHED, OVERRUNS, ROUTED

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.eventlog.outbox import OutboxWriter
    from headrace.pipeline.settings import PipelineSettings

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RoutePaths:
    """Where the route reads and writes."""

    log: Path
    store: str
    work: Path


class Route:
    """Runs the query and starts it again when it fails. One per outbox; `run` belongs to one thread."""

    def __init__(
        self,
        paths: RoutePaths,
        outbox: OutboxWriter,
        settings: PipelineSettings,
        matching: MatchingSettings | None = None,
    ) -> None:
        self._paths = paths
        self._outbox = outbox
        self._settings = settings
        self._matching = matching or MatchingSettings()
        self._reporter = Reporter(lambda: Store(paths.store))
        self._batches = 0

    def run(self, stop: threading.Event, on_ready: Callable[[], None]) -> None:
        """Route until `stop` is set; `on_ready` is called once the workers are warm."""
        # The kernels are compiled while the JVM starts; workers then find them on disk.
        warming = threading.Thread(target=warm_up, name="headrace-warm-up", daemon=True)
        warming.start()
        session = Session(self._settings, self._paths.work)
        warming.join()
        _log.info(
            "Spark %s on Java %s (%s)", session.spark.version, session.java.version, session.java.origin
        )
        try:
            session.spark.dataSource.register(LogSource)
            with self._reporter:
                while not stop.is_set():
                    self._run_query(session.spark, stop, on_ready)
        finally:
            session.stop()

    def _run_query(self, spark: SparkSession, stop: threading.Event, on_ready: Callable[[], None]) -> None:
        query = self._start(spark)
        ready = False
        while query.isActive and not stop.wait(0.5 if ready else 0.05):
            if not ready and self._batches >= WARM_UP_TICKS:
                ready = True
                on_ready()
        if stop.is_set():
            query.stop()
            return
        _log.error(
            "routing stopped and starts again from position %s: %s", self._outbox.covered(), query.exception()
        )
        stop.wait(self._settings.restart_seconds)

    def _start(self, spark: SparkSession) -> StreamingQuery:
        checkpoint = self._paths.work / "checkpoint"
        shutil.rmtree(checkpoint, ignore_errors=True)
        self._batches = 0
        pointers = spark.readStream.format(LogSource.name()).options(**self._options(spark)).load()
        plan = pointers.mapInArrow(match_pointers, PLAN)
        stream = plan.writeStream.foreachBatch(self._write).option("checkpointLocation", str(checkpoint))
        return stream.trigger(processingTime="0 seconds").start()

    def _options(self, spark: SparkSession) -> dict[str, Any]:
        return {
            "log": str(self._paths.log),
            "store": self._paths.store,
            "rosters": str(self._paths.work / "rosters"),
            "matching": msgspec.json.encode(self._matching).decode(),
            "begin": self._outbox.covered().to_json(),
            "max_events": str(self._settings.max_events_per_batch),
            "max_bytes": str(self._settings.max_bytes_per_batch),
            "min_per_task": str(self._settings.min_events_per_task),
            "tasks": str(spark.sparkContext.defaultParallelism),
            "poll": str(self._settings.poll_seconds),
            "tick": str(self._settings.tick_seconds),
        }

    def _write(self, frame: DataFrame, _batch_id: int) -> None:
        """Take one batch's plan to the outbox. Spark's batch id means nothing here."""
        began = time.monotonic()
        plan = frame.toArrow()
        start, end = _cuts_of(plan)
        if events := start.count_to(end):
            MATCHED.inc(self._outbox.write(start, end, _deliveries_in(plan)))
            ROUTED.inc(events)
            overruns = overruns_in(plan)
            OVERRUNS.inc(sum(each.overruns for each in overruns.values()))
            self._reporter.note(overruns)
            BATCH_SECONDS.observe(time.monotonic() - began)
        self._batches += 1


def _deliveries_in(plan: pa.Table) -> pa.Table:
    is_delivery = pc.and_(pc.is_valid(plan["subscription"]), pc.is_null(plan["overrun"]))
    return plan.filter(is_delivery).select(["position", "subscription"])


def _cuts_of(plan: pa.Table) -> tuple[Cut, Cut]:
    """Return the cuts between which the batch covers everything; in a lane its tasks' ranges have to join."""
    notes = plan.filter(pc.is_valid(plan["until"])).sort_by("position")
    starts: dict[int, int] = {}
    ends: dict[int, int] = {}
    for start, end in zip(notes["position"].to_pylist(), notes["until"].to_pylist(), strict=True):
        lane = lane_of(start)
        if ends.get(lane, start) != start:
            raise OutboxGap(ends[lane], start)
        starts.setdefault(lane, start)
        ends[lane] = end
    return Cut(starts), Cut(ends)
