"""Takes jobs and does them in threads of the route's Spark session, a few at a time, behind the routing."""

from __future__ import annotations

import logging
import threading
import time
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Self

from pyspark import InheritableThread
from sqlalchemy.exc import SQLAlchemyError

from headrace.errors import HeadraceError, JobLost, StoreUnavailable, first_line
from headrace.jobs.requests import BACKTEST, CATCH_UP, REPLAY, SEEK
from headrace.pipeline.jobs.backtest import run_backtest
from headrace.pipeline.jobs.replay import run_replay
from headrace.pipeline.jobs.run import JobRun
from headrace.pipeline.jobs.seek import run_seek
from headrace.pipeline.spark.session import JOBS_POOL, use_pool
from headrace.telemetry.health import FOREVER, HEALTH
from headrace.telemetry.metrics import JOBS_BEGUN, JOBS_FAILED

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from headrace.jobs.jobs import Claim
    from headrace.pipeline.jobs.run import Handler, JobResources
    from headrace.pipeline.settings import PipelineSettings

_log = logging.getLogger(__name__)
HANDLERS: dict[str, Handler] = {
    SEEK: run_seek,
    BACKTEST: run_backtest,
    REPLAY: run_replay,
    CATCH_UP: run_replay,
}
_DATABASE_LOST = (StoreUnavailable, SQLAlchemyError)
_PART = "jobs"
_LOOK_SECONDS = 0.25
_HOLD_SECONDS = 15.0
_EXTEND_SECONDS = 3.0
_PRUNE_SECONDS = 600.0
_END_SECONDS = 5.0


class JobRunner:
    """A context manager: jobs are done as long as it is open, and let go of when it is closed.

    One thread looks for jobs and keeps extending the claims; each job has a thread and a group of Spark jobs.
    """

    def __init__(self, spark: SparkSession, tools: JobResources, settings: PipelineSettings) -> None:
        self._spark = spark
        self._tools = tools
        self._settings = settings
        self._stop = threading.Event()
        self._working: dict[str, tuple[Claim, threading.Thread]] = {}
        self._thread = threading.Thread(target=self._run, name="headrace-jobs", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join(_END_SECONDS)
        for job_id, (claim, thread) in self._working.items():
            self._spark.sparkContext.cancelJobGroup(job_id)
            thread.join(_END_SECONDS)
            with suppress(JobLost, *_DATABASE_LOST):  # it ended, or somebody takes it when its time is over
                claim.release()

    def _run(self) -> None:
        # Extended before any is taken: after a long pause of the machine, that would be one of our own.
        turns = [(self._extend, _EXTEND_SECONDS), (self._take, _LOOK_SECONDS), (self._prune, _PRUNE_SECONDS)]
        due = dict.fromkeys(range(len(turns)), 0.0)
        while not self._stop.wait(_LOOK_SECONDS):
            for number, (turn, seconds) in enumerate(turns):
                if time.monotonic() < due[number]:
                    continue
                try:
                    turn()
                except _DATABASE_LOST as error:
                    _log.warning(
                        "the list of jobs can't be reached; it is tried again: %s", first_line(error)
                    )
                    HEALTH.degraded(
                        _PART, f"their list can't be reached and is tried again: {first_line(error)}"
                    )
                else:
                    HEALTH.idle(_PART, f"{len(self._working)} are under way", FOREVER)
                due[number] = time.monotonic() + seconds

    def _take(self) -> None:
        self._working = {job: each for job, each in self._working.items() if each[1].is_alive()}
        while len(self._working) < self._settings.max_jobs:
            claim = self._tools.jobs.take(_HOLD_SECONDS)
            if claim is None:
                return
            JOBS_BEGUN.labels(claim.job.kind).inc()
            thread = InheritableThread(
                target=self._work, args=(claim,), name=f"headrace-{claim.job.kind}", daemon=True
            )
            self._working[claim.job.id] = (claim, thread)
            thread.start()

    def _extend(self) -> None:
        for job_id, (claim, thread) in self._working.items():
            try:
                if thread.is_alive():
                    claim.extend(_HOLD_SECONDS)
            except JobLost:  # it was cancelled, or it has just ended
                self._spark.sparkContext.cancelJobGroup(job_id)

    def _prune(self) -> None:
        oldest = datetime.now(UTC) - timedelta(seconds=self._settings.job_retention_seconds)
        self._tools.jobs.prune(oldest.isoformat(timespec="milliseconds").replace("+00:00", "Z"))

    def _work(self, claim: Claim) -> None:
        context, job = self._spark.sparkContext, claim.job
        use_pool(self._spark, JOBS_POOL)
        context.setJobGroup(job.id, f"{job.kind} {job.id}", interruptOnCancel=True)
        try:
            HANDLERS[job.kind](JobRun(claim, self._tools))
        except JobLost:
            _log.info("%s %s was cancelled or taken over", job.kind, job.id)
        except _DATABASE_LOST as error:
            _log.warning(
                "%s %s lost the database and is tried again: %s", job.kind, job.id, first_line(error)
            )
        except HeadraceError as error:
            self._fail(claim, error)
        except Exception as error:  # noqa: BLE001 -- told to who asked, and logged
            self._fail(claim, self._blamed(error))

    def _blamed(self, error: Exception) -> Exception:
        try:
            return self._tools.blame(error)
        except (HeadraceError, OSError) as further:  # the archive can't even be looked at
            return further

    def _fail(self, claim: Claim, error: Exception) -> None:
        job = claim.job
        if self._stop.is_set():
            return  # Spark was told to let go of it; the next start goes on
        reason = str(error) if isinstance(error, HeadraceError) else f"{type(error).__name__}: {error}"
        try:
            claim.fail(reason.partition("\n")[0][:1000])
        except (JobLost, *_DATABASE_LOST):
            return  # it was cancelled, and so was its work in Spark; or it is tried again when its claim is over
        JOBS_FAILED.labels(job.kind).inc()
        _log.error("%s %s failed", job.kind, job.id, exc_info=not isinstance(error, HeadraceError) and error)
