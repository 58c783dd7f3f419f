"""The role that routes and archives: a Spark driver, the one writer of the outbox."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from contextlib import ExitStack, closing
from functools import partial
from typing import TYPE_CHECKING

from headrace.database.patience import outlast_full_disks
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.archive.verification import explain_spark_error
from headrace.eventlog.location import open_log
from headrace.jobs.jobs import Jobs
from headrace.jobs.replays import Replays
from headrace.ledger.ledger import Ledger
from headrace.pipeline.history.history import History
from headrace.pipeline.history.log_table import LogTable
from headrace.pipeline.jobs.run import JobResources
from headrace.pipeline.jobs.runner import JobRunner
from headrace.pipeline.route.route import Route, RoutePaths
from headrace.service.storage.databases import open_databases
from headrace.service.storage.layout import Layout
from headrace.service.storage.logs import log_location, open_outbox_writer
from headrace.service.upkeep.archive import archiving
from headrace.service.upkeep.kafka_retention import shrinking, shrinks
from headrace.subscriptions.store.store import Store
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import SparkSession

    from headrace.config import Config


def run(config: Config) -> None:
    """Route until told to stop. Stopping at any moment is safe: the outbox says where to go on."""
    work = Layout(config.data).work
    work.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    outlast_full_disks(stop.is_set)
    _send_java_output_to(work / "spark.log")
    route_until(config, stop, HEALTH.started)


def route_until(config: Config, stop: threading.Event, on_ready: Callable[[], None]) -> None:
    """Route, and archive beside it, until `stop` is set."""
    location = log_location(config)
    paths = RoutePaths(location, Layout(config.data).work)
    with (
        open_databases(config, config.store.patience_seconds) as databases,
        closing(open_outbox_writer(config, databases.ledger, open_log(location).start())) as outbox,
        ExitStack() as chores,
    ):
        store, jobs = Store(databases.store), Jobs(databases.store)
        route = Route(paths, outbox, store, config.pipeline, config.matching)
        if config.archive.enabled:
            chores.enter_context(archiving(config, databases.store))
        if shrinks(config):
            chores.enter_context(shrinking(config, Ledger(databases.ledger)))
        route.run(stop, on_ready, partial(_job_runner, config, store, jobs))


def _job_runner(config: Config, store: Store, jobs: Jobs, spark: SparkSession) -> JobRunner:
    location = log_location(config)
    archive = Storage(config.archive.path) if config.archive.enabled else None
    tools = JobResources(
        history=lambda: History(spark, archive, LogTable(location, config.store.url)),
        end_of_log=open_log(location).end,
        store=store,
        jobs=jobs,
        replays=Replays(jobs),
        blame=(lambda error: error) if archive is None else partial(explain_spark_error, archive),
    )
    return JobRunner(spark, tools, config.pipeline)


def _send_java_output_to(path: Path) -> None:
    """Redirect the output of the JVM to a file; this process keeps its own standard error for its log."""
    own = os.dup(2)
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    os.dup2(file, 1)
    os.dup2(file, 2)
    os.close(file)
    sys.stderr = os.fdopen(own, "w", buffering=1)
    for handler in logging.getLogger().handlers:
        if isinstance(handler, logging.StreamHandler):
            handler.setStream(sys.stderr)
