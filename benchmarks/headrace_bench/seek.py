"""`headrace bench seek`: finding one event among millions of archived ones, with and without what spares reading."""

from __future__ import annotations

import tempfile
import time
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.config import load_config
from headrace.errors import HeadraceError
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.writer import SegmentWriter
from headrace.filters import compile_filter
from headrace.matching import Scope
from headrace.pipeline.history.history import History
from headrace.pipeline.history.log_table import LogTable
from headrace.pipeline.history.seek import first_match
from headrace.pipeline.history.selection import HistorySelection
from headrace.pipeline.spark.session import Session
from headrace_bench.seek_events import CHANNEL, NEEDLE, archived_events, extension_at, id_at
from headrace_bench.spark_input import count_every_read, measured

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from headrace.filters import Filter
    from headrace.pipeline.history.history import HistoryPart

_WANTED = 0.9
"""Where the event that is sought stands: with nine tenths of the history before it."""


@dataclass(frozen=True, slots=True)
class SeekPlan:
    """How many events to search, and a folder to keep them in for another time; None for one that is thrown away."""

    events: int
    folder: Path | None


def run(plan: SeekPlan, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Make the archive where it isn't there yet, and search it."""
    if plan.folder is not None:
        return _run(plan, plan.folder, say)
    with tempfile.TemporaryDirectory(prefix="headrace-bench-") as folder:
        return _run(plan, Path(folder), say)


def _run(plan: SeekPlan, folder: Path, say: Callable[[str], None]) -> list[dict[str, Any]]:
    storage = Storage(str(folder / "archive"))
    _prepare(storage, plan.events, say)
    SegmentWriter(folder / "log", 1 << 20).close()  # an empty one: everything is archived
    say("starting Spark")
    session = Session(load_config().pipeline, folder / "spark")
    try:
        count_every_read(session.spark)
        return list(_measure(session.spark, storage, LogTable(str(folder / "log")), plan.events, say))
    finally:
        session.stop()


def _prepare(storage: Storage, events: int, say: Callable[[str], None]) -> None:
    known = storage.manifest().rows
    if known not in (0, events):
        raise HeadraceError(f"{storage.root} holds {known} events, not {events}; give another --data")
    if not known:
        for done in archived_events(storage, events, int(events * _WANTED)):
            say(f"archived {done:,} of {events:,} events")


def _measure(
    spark: SparkSession, storage: Storage, log: LogTable, events: int, say: Callable[[str], None]
) -> Iterator[dict[str, Any]]:
    wanted = int(events * _WANTED)
    asked: dict[str, dict[str, Any]] = {
        "an extension, in order": {"exact": {"gtid": extension_at(wanted)}},
        "an id, at random": {"exact": {"id": id_at(wanted)}},
        "a text in the data": {"cel": f'data.note == "{NEEDLE}"'},
    }
    total = storage.manifest()
    _search(spark, storage, log, compile_filter({"exact": {"id": "nobody"}}))  # for the JVM to warm up
    for what, filter_ in asked.items():
        for how, search in (("seek", _search), ("full scan", _scan)):
            say(f"{how}: {what}")
            began = time.monotonic()
            with measured(spark) as figures:
                found, opened = search(spark, storage, log, compile_filter(filter_))
            if found != (wanted,):
                raise HeadraceError(f"{how} by {what} found {found} instead of position {wanted}")
            yield {
                "by": what,
                "how": how,
                "seconds": round(time.monotonic() - began, 2),
                "JVM CPU s": round(figures.cpu_seconds, 2),
                "files opened": opened,
                "of files": len(total.files),
                "MB read": round(figures.bytes / 1e6, 1),
                "of MB": round(total.bytes / 1e6, 1),
                "% read": round(100 * figures.bytes / total.bytes, 2),
            }


class _WatchedHistory(History):
    """Counts the files that queries open."""

    opened: frozenset[str] = frozenset()

    def matching(
        self,
        filter_: Filter,
        extent: HistorySelection | None = None,
        parts: Iterable[HistoryPart] | None = None,
    ) -> DataFrame:
        chosen = self.parts(extent or HistorySelection(), filter_) if parts is None else list(parts)
        self.opened |= {getattr(part, "path", "") for part in chosen}
        return super().matching(filter_, extent, chosen)


def _search(
    spark: SparkSession, storage: Storage, log: LogTable, filter_: Filter
) -> tuple[tuple[int, ...], int]:
    history = _WatchedHistory(spark, storage, log)
    found = first_match(history, HistorySelection(Scope(*CHANNEL)), filter_)
    return found, len(history.opened)


def _scan(
    spark: SparkSession, storage: Storage, log: LogTable, filter_: Filter
) -> tuple[tuple[int, ...], int]:
    """Ask the filter of every event, with nothing that lets Parquet leave out rows."""
    history = History(spark, storage, log)
    with _without_pushdown(spark):
        events = history.events(HistorySelection(Scope(*CHANNEL)))
        position = events.where(filter_.column()).agg(F.min("position")).collect()[0][0]
    return (position,), len(history.parts(HistorySelection()))


@contextmanager
def _without_pushdown(spark: SparkSession) -> Iterator[None]:
    setting = "spark.sql.parquet.filterPushdown"
    spark.conf.set(setting, "false")
    try:
        yield
    finally:
        spark.conf.unset(setting)
