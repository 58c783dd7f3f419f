"""Stands in for `headrace.pipeline.spark.session`, and for nothing else of the route: its query runs in a thread, without a JVM.

The source, the matching and the writing of batches are the real ones. With Spark the source and the workers are
processes of their own; here a fault that kills one of them kills the role.
"""

import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import pyarrow as pa

from headrace.database.database import Database
from headrace.eventlog.location import cached_log
from headrace.pipeline.route import planner, worker
from headrace.pipeline.route.offsets import Offset
from headrace.pipeline.route.source import LogSource
from headrace.subscriptions.store.store import Store

ROUTE_POOL, JOBS_POOL = "route", "jobs"
HOLD = threading.Lock()
"""While somebody holds it, no batch is planned or written."""

_LONGEST_WAIT = 0.05  # of the source: Spark interrupts it at a stop, and this waits for it
_STOP_SECONDS = 30.0
# Spark says what went wrong on later lines; what is told in one line lacks it.
_FAILED = (
    "[STREAM_FAILED] Query [id = 0, runId = 0] terminated with exception: Job aborted due to stage failure: Task 0 in "
    "stage 0.0 failed 1 times, most recent failure: Lost task 0.0 in stage 0.0 (TID 0) (localhost executor driver): "
    "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n"
)


class QueryFailed(Exception):
    """What Spark makes of an error in a source or a worker."""


class Session:
    """A start has new workers, which know nothing of the last ones. One at a time."""

    def __init__(self, settings: object, work_folder: Path) -> None:
        work_folder.mkdir(parents=True, exist_ok=True)
        planner._LONGEST_WAIT = _LONGEST_WAIT
        setattr(planner, "_beat_to", lambda _: None)  # noqa: B010  it is no process of its own
        cached_log.cache_clear()
        worker._rosters.cache_clear()
        self.java = SimpleNamespace(version="0", origin="nowhere")
        self.spark = _Spark()
        self.is_running = True

    def stop(self) -> None:
        self.is_running = False


def use_pool(spark: object, pool: str) -> None:
    """There are no cores to share."""


class _Spark:
    version = "none"

    def __init__(self) -> None:
        self.dataSource = SimpleNamespace(register=self._register)
        self.sparkContext = SimpleNamespace(defaultParallelism=1)

    def _register(self, source_class: type[LogSource]) -> None:
        self._source = source_class

    @property
    def readStream(self) -> "_Stream":  # noqa: N802
        return _Stream(self._source)


class _Stream:
    """Reader and writer of a stream in one, as the route puts them together."""

    def __init__(self, source_class: type[LogSource]) -> None:
        self._source = source_class
        self.writeStream = self

    def format(self, name: str) -> Self:
        assert name == self._source.name()
        return self

    def options(self, **options: str) -> Self:
        self._options = options
        return self

    def option(self, name: str, value: str) -> Self:
        """There is no checkpoint: what the outbox covers is the truth."""
        assert name == "checkpointLocation"
        return self

    def load(self) -> Self:
        return self

    def foreachBatch(self, write: Callable[[Any, int], None]) -> Self:  # noqa: N802
        self._write = write
        return self

    def trigger(self, **_: str) -> Self:
        return self

    def start(self) -> "_Query":
        return _Query(self._source(self._options), self._write)


class _Query:
    def __init__(self, origin: LogSource, write: Callable[[Any, int], None]) -> None:
        self._origin = origin
        self._write = write
        self._stopped = threading.Event()
        self._error: QueryFailed | None = None
        self._stores: list[Store] = []
        setattr(planner, "Store", self._open_store)  # noqa: B010
        self._thread = threading.Thread(target=self._run, name="plain-query", daemon=True)
        self._thread.start()

    @property
    def isActive(self) -> bool:  # noqa: N802
        return self._thread.is_alive()

    def exception(self) -> QueryFailed | None:
        return self._error

    def stop(self) -> None:
        self._stopped.set()
        self._thread.join(_STOP_SECONDS)
        assert not self._thread.is_alive(), "a batch doesn't end"

    def _run(self) -> None:
        try:
            self._follow()
        except BaseException:  # noqa: BLE001  as Spark does
            self._error = QueryFailed(_FAILED + traceback.format_exc())
        finally:  # the process of the source ends with its query
            for store in self._stores:
                store.database.close()

    def _open_store(self, database: Database) -> Store:
        self._stores.append(Store(database))
        return self._stores[-1]

    def _follow(self) -> None:
        reader: Any = self._origin.streamReader(None)  # type: ignore[arg-type]
        done, number = reader.initialOffset(), 0
        while not self._stopped.is_set():
            with HOLD:
                end = reader.latestOffset(done, None)
                if end != done and not self._stopped.is_set():
                    self._batch(reader, done, end, number)
                    done, number = end, number + 1
            time.sleep(0.001)  # so that who waits for the lock gets it

    def _batch(self, reader: Any, start: Offset, end: Offset, number: int) -> None:
        rows = [batch for part in reader.partitions(start, end) for batch in reader.read(part)]
        table = pa.Table.from_batches(rows)
        self._write(SimpleNamespace(toArrow=lambda: table), number)
