"""The route: one Structured Streaming query from the log to the outbox.

What the outbox covers is the truth. Spark's checkpoint is never synced to disk, so it is thrown away at every
start, and the query begins where the outbox ends: a lost, torn or repeated batch changes nothing.
"""

from __future__ import annotations

import logging
import shutil
import subprocess
import sys
import threading
import time
import uuid
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import msgspec

from headrace.database.sqlite.watch import examine_all
from headrace.errors import LogLocked, LogUnavailable, first_line
from headrace.eventlog.location import open_log
from headrace.eventlog.lookup import read_events_at
from headrace.events.positions import LogPosition, partition_of
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.route.offsets import WARM_UP_TICKS
from headrace.pipeline.route.overruns import OverrunReporter, overruns_in
from headrace.pipeline.route.plan import NO_DELIVERIES, asides_in, covered_range, deliveries_in
from headrace.pipeline.route.poison import BatchLimit, IsolatedEvent
from headrace.pipeline.route.progress import PART, RouteProgress
from headrace.pipeline.route.source import LogSource
from headrace.pipeline.spark.cluster import own_version
from headrace.pipeline.spark.session import ROUTE_POOL, Session, use_pool
from headrace.subscriptions.store.set_aside import Kind, SetAside, join
from headrace.telemetry.disk_space import await_space, is_disk_full
from headrace.telemetry.health import HEALTH
from headrace.telemetry.metrics import BATCH_SECONDS, MATCHED, OVERRUNS, ROUTE_SECONDS, ROUTED, SET_ASIDE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path

    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

    from headrace.eventlog.outbox import OutboxWriter
    from headrace.pipeline.settings import PipelineSettings
    from headrace.subscriptions.store.store import Store

_log = logging.getLogger(__name__)
_LOOK_SECONDS = 1.0
_PART = "outbox"
# What a batch may need on the disk: a file of the outbox, and what Spark writes down of it.
_NEEDED_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class RoutePaths:
    """Where the route reads and writes; `log` is a location that `open_log` knows."""

    log: str
    work: Path


class Route:
    """Runs the query and starts it again when it fails. One per outbox; `run` belongs to one thread."""

    def __init__(
        self,
        paths: RoutePaths,
        outbox: OutboxWriter,
        store: Store,
        settings: PipelineSettings,
        matching: MatchingSettings | None = None,
    ) -> None:
        self._paths = paths
        self._outbox = outbox
        self._store = store
        self._settings = settings
        self._matching = matching or MatchingSettings()
        self._reporter = OverrunReporter(
            store, lambda positions: read_events_at(open_log(paths.log), positions)
        )
        self._batches = 0
        self._reached = LogPosition()
        self._outbox_lock = threading.Lock()
        self._refused: LogLocked | None = None
        self._caution = BatchLimit(settings.max_events_per_batch)
        self._suspect = IsolatedEvent(paths.work / "suspect.json")
        self._planner = paths.work / "planner.beat"

    def run(
        self,
        stop: threading.Event,
        on_ready: Callable[[], None],
        beside: Callable[[SparkSession], AbstractContextManager[object]] = lambda _: nullcontext(),
    ) -> None:
        """Route until `stop` is set; `on_ready` is called once the workers are warm.

        What `beside` opens may use the session as long as the route does.
        """
        # A batch that fails, or is interrupted, is told of by its query: without the trace of every call between.
        logging.getLogger("py4j.clientserver").setLevel(logging.CRITICAL)
        with _compiling_kernels():
            session = Session(self._settings, self._paths.work)
        _log.info(
            "Spark %s on Java %s (%s)", session.spark.version, session.java.version, session.java.origin
        )
        try:
            self._store.forget_filters_set_aside()  # all of them are looked at again
            self._progress = RouteProgress(open_log(self._paths.log).end, self._outbox.covered, self._planner)
            session.spark.dataSource.register(LogSource)
            use_pool(session.spark, ROUTE_POOL)
            with self._reporter, beside(session.spark):
                while self._await_outbox(stop):
                    try:
                        self._run_query(session.spark, stop, on_ready)
                    except LogUnavailable:
                        raise  # the outbox was taken away; a new start opens what is there
                    except Exception as error:
                        if not session.is_running:
                            raise  # without its JVM this process is of no use
                        self._pause(error, stop)
        finally:
            HEALTH.forget(PART)
            session.stop()

    def _await_outbox(self, stop: threading.Event) -> bool:
        """Wait for as long as nothing may be planned: log and outbox don't fit. False where it is time to stop."""
        told = None
        while not stop.is_set():
            with self._outbox_lock:
                obstacle = self._outbox.refresh()
            if obstacle is None:
                HEALTH.forget(_PART)
                return True
            if obstacle != told:
                _log.error("nothing is routed: %s", obstacle)
            told = obstacle
            HEALTH.blocked(_PART, obstacle)
            stop.wait(_LOOK_SECONDS)
        return False

    def _has_moved(self) -> bool:
        """Tell whether routing has to go on elsewhere: a file of the outbox is missing, or has been filled in."""
        with self._outbox_lock:
            return self._outbox.refresh() is not None or self._outbox.covered() != self._reached

    def _run_query(self, spark: SparkSession, stop: threading.Event, on_ready: Callable[[], None]) -> None:
        query = self._start(spark)
        try:
            self._follow(query, stop, on_ready)
        except BaseException:
            with suppress(Exception):  # what went wrong first is what is told
                query.stop()  # or a second one would write beside it
            raise

    def _follow(self, query: StreamingQuery, stop: threading.Event, on_ready: Callable[[], None]) -> None:
        ready, look_at = False, time.monotonic() + _LOOK_SECONDS
        while query.isActive and not stop.wait(0.5 if ready else 0.05):
            is_warm = self._batches >= WARM_UP_TICKS
            self._progress.look(self._batches, is_warm=is_warm)
            if not ready and is_warm:
                ready = True
                on_ready()
            if self._caution.relax():
                query.stop()
                return
            if time.monotonic() >= look_at:
                look_at = time.monotonic() + _LOOK_SECONDS
                if self._has_moved():
                    query.stop()
                    _log.warning(
                        "routing goes on at position %s: files of the outbox have changed",
                        self._outbox.covered(),
                    )
                    return
        if stop.is_set():
            query.stop()
            return
        if self._refused is not None:
            raise self._refused  # another driver has taken over, and trying again would push it out
        # A query that has not come beyond its ticks didn't fail because of an event.
        if self._caution.failed(query.exception()) and self._batches >= WARM_UP_TICKS:
            self._give_up_next_event()
        self._pause(query.exception(), stop)

    def _give_up_next_event(self) -> None:
        """Set the event aside that was alone in its batch: it kills the worker that matches it."""
        covered, position = self._outbox.covered(), self._suspect.position()
        if position is None or position != covered[partition_of(position)]:
            return
        self._set_aside([SetAside(Kind.EVENT, position, position + 1, "the worker that matches it dies")])
        self._plan(covered, covered.join(LogPosition.at(position + 1)), NO_DELIVERIES)
        ROUTED.inc()

    def _pause(self, error: Exception | None, stop: threading.Event) -> None:
        refusal = examine_all()  # the source has the store open in a process of its own
        if refusal is not None:
            raise refusal
        self._progress.failed(error)
        is_full = error is not None and is_disk_full(error)
        told = first_line(error) if error is not None and is_full else error
        _log.error("routing stopped and starts again from position %s: %s", self._outbox.covered(), told)
        if is_full:
            await_space(PART, self._paths.work, _NEEDED_BYTES, stop.wait)
            self._progress.failed(error)
        stop.wait(self._settings.restart_seconds)

    def _start(self, spark: SparkSession) -> StreamingQuery:
        checkpoints = self._paths.work / "checkpoint"
        shutil.rmtree(checkpoints, ignore_errors=True)
        checkpoint = checkpoints / uuid.uuid4().hex  # even if the old one can't be removed
        self._batches, self._reached = 0, self._outbox.covered()
        self._suspect.forget()
        plan = spark.readStream.format(LogSource.name()).options(**self._options(spark)).load()
        stream = plan.writeStream.foreachBatch(self._write).option("checkpointLocation", str(checkpoint))
        return stream.trigger(processingTime="0 seconds").start()

    def _options(self, spark: SparkSession) -> dict[str, Any]:
        return {
            "log": self._paths.log,
            "store": self._store.database.url,
            "rosters": self._settings.rosters or str(self._paths.work / "rosters"),
            "matching": msgspec.json.encode(self._matching).decode(),
            "begin": self._outbox.covered().to_json(),
            "max_events": str(self._caution.limit),
            "max_bytes": str(self._settings.max_bytes_per_batch),
            "min_per_task": str(self._settings.min_events_per_task),
            "tasks": str(spark.sparkContext.defaultParallelism),
            "poll": str(self._settings.poll_seconds),
            "tick": str(self._settings.tick_seconds),
            "suspect": str(self._suspect.path),
            "beat": str(self._planner),
            "version": own_version(),
        }

    def _write(self, frame: DataFrame, _batch_id: int) -> None:
        """Take one batch's plan to the outbox. Spark's batch id means nothing here."""
        began = time.monotonic()
        plan = frame.toArrow()
        start, end = covered_range(plan, self._matching.shards)
        self._set_aside(asides_in(plan))
        if events := start.count_to(end):
            with ROUTE_SECONDS.labels("outbox").time():
                MATCHED.inc(self._plan(start, end, deliveries_in(plan)))
            ROUTED.inc(events)
            overruns = overruns_in(plan)
            OVERRUNS.inc(sum(each.overruns for each in overruns.values()))
            self._reporter.note(overruns)
            BATCH_SECONDS.observe(time.monotonic() - began)
            self._caution.passed()
        self._batches += 1

    def _plan(self, start: LogPosition, end: LogPosition, pairs: pa.Table) -> int:
        with self._outbox_lock:
            reached = self._outbox.covered().join(end)
            try:
                planned = self._outbox.write(start, end, pairs)
            except LogLocked as refused:
                self._refused = refused
                raise
            self._reached = reached
            return planned

    def _set_aside(self, records: list[SetAside]) -> None:
        """Write down what is left out, before the outbox covers it."""
        if not records:
            return
        self._store.set_aside(records)
        for record in join(records):
            SET_ASIDE.labels(record.kind).inc(record.count)
            _log.error("set aside %s at position %d: %s", record.kind, record.position, record.reason)


@contextmanager
def _compiling_kernels() -> Iterator[None]:
    """Compile the matcher's kernels while the JVM starts, in a process of its own: workers find them on disk.

    The driver has no use for them, and the compiler would take 200 MB of it for good.
    """
    process = subprocess.Popen([sys.executable, "-m", "headrace.matching.warm_up"])
    try:
        yield
    except BaseException:
        process.kill()
        raise
    finally:
        process.wait()
