"""`headrace bench backlog`: a dispatcher with millions of deliveries that wait, and a sink that is slow: its memory.

The ledger is filled as fast as SQLite takes it: rows in the order of their key, and the other indexes afterwards.
"""

from __future__ import annotations

import asyncio
import sqlite3
import tempfile
import time
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import uvloop
from sqlalchemy import create_engine
from sqlalchemy.schema import CreateIndex

from headrace.database.database import Database
from headrace.ledger.records.records import Records
from headrace.ledger.stages import SINK
from headrace.ledger.tables import WAITING
from headrace.service.processes.process_table import memory_bytes
from headrace_bench.events import bench_events
from headrace_bench.figures import cpu_seconds
from headrace_bench.harness import DispatcherAlone
from headrace_bench.sinks import slow_sink

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

_AT_A_TIME = 1_000
_LOOK_SECONDS = 1.0
_COLUMNS = ("subscription", "stage", "replay", "position", "attempts", "due", "reason", "share")


@dataclass(frozen=True, slots=True)
class BacklogPlan:
    """So many deliveries wait for so many subscriptions, whose sink takes `sink_seconds` for each answer."""

    waiting: int
    subscriptions: int
    sink_seconds: float
    seconds: float
    folder: Path | None = None


def run(plan: BacklogPlan, say: Callable[[str], None]) -> dict[str, Any]:
    """Fill a ledger, run a dispatcher on it for a while, and tell how it fared second by second."""
    with (
        tempfile.TemporaryDirectory(prefix="headrace-bench-", dir=plan.folder) as folder,
        slow_sink(plan.sink_seconds) as address,
    ):
        return uvloop.run(_run(plan, address, Path(folder), say))


async def _run(plan: BacklogPlan, address: str, folder: Path, say: Callable[[str], None]) -> dict[str, Any]:
    each = plan.waiting // plan.subscriptions
    with DispatcherAlone(folder, {}) as harness:
        subscriptions = sorted(
            harness.subscribe({"protocol": "HTTP", "sink": address}) for _ in range(plan.subscriptions)
        )
        for start in range(0, each, _AT_A_TIME):
            say(f"storing events: {start:,} of {each:,}")
            harness.send(bench_events(min(_AT_A_TIME, each - start), f"bench-{start}"), lambda _: ())
        database = harness.data / "delivery.db"
        filled = _fill(database, subscriptions, each, say)
        harness.pass_all()
        say("starting the dispatcher")
        began = time.monotonic()
        await harness.start()
        series = await _watch(harness, database, began, plan, say)
        used = cpu_seconds(harness.service.pid)
        with Database(f"sqlite:///{database}") as opened:
            records = Records(opened)
            asked = time.perf_counter()
            records.statuses()
            status_seconds = time.perf_counter() - asked
        harness.service.stop()
    return {
        "waiting": each * len(subscriptions),
        "subscriptions": len(subscriptions),
        "filled in s": round(filled),
        "ledger MB": series[-1]["ledger MB"],
        "first delivery after s": next((row["s"] for row in series if row["delivered"]), None),
        "delivered": series[-1]["delivered"],
        "MB at most": max(row["MB"] for row in series),
        "MB at the end": series[-1]["MB"],
        "processor s": round(used, 1),
        "status of all s": round(status_seconds, 2),
        "series": series,
    }


def _fill(database: Path, subscriptions: Sequence[str], each: int, say: Callable[[str], None]) -> float:
    """Let each of the first events wait for each subscription, due now."""
    began = time.monotonic()
    made = [str(CreateIndex(index).compile(create_engine("sqlite://"))) for index in WAITING.indexes]
    with closing(sqlite3.connect(database, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous=OFF")
        connection.execute("PRAGMA cache_size=-200000")
        for index in WAITING.indexes:
            connection.execute(f"DROP INDEX {index.name}")
        marks = ", ".join("?" * len(_COLUMNS))
        statement = f"INSERT INTO waiting ({', '.join(_COLUMNS)}) VALUES ({marks})"  # noqa: S608
        connection.execute("BEGIN")
        for number, subscription in enumerate(subscriptions):
            say(f"filling the ledger: {number * each:,} of {len(subscriptions) * each:,}")
            connection.executemany(statement, _rows(subscription, each))
        for statement in made:
            say("filling the ledger: indexes")
            connection.execute(statement)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return time.monotonic() - began


def _rows(subscription: str, count: int) -> Iterator[tuple[Any, ...]]:
    now = time.time()
    return ((subscription, SINK, "", position, 0, now, "it waits", 0) for position in range(count))


async def _watch(
    harness: DispatcherAlone, database: Path, began: float, plan: BacklogPlan, say: Callable[[str], None]
) -> list[dict[str, Any]]:
    """Look at the dispatcher again and again, until the time is over or nothing waits any more."""
    everything = plan.waiting // plan.subscriptions * plan.subscriptions
    series: list[dict[str, Any]] = []
    with closing(sqlite3.connect(f"file:{database}?mode=ro", uri=True)) as connection:
        delivered = 0
        while (now := time.monotonic() - began) < plan.seconds and delivered < everything:
            delivered = connection.execute("SELECT coalesce(max(number), 0) FROM attempts").fetchone()[0]
            files = (database, database.with_name(f"{database.name}-wal"))
            row = {
                "s": round(now, 1),
                "delivered": delivered,
                "MB": memory_bytes(harness.service.pid) >> 20,
                "ledger MB": sum(file.stat().st_size for file in files if file.exists()) >> 20,
            }
            series.append(row)
            say(f"{now:.0f} s: {delivered:,} delivered, {row['MB']} MB")
            await asyncio.sleep(_LOOK_SECONDS)
    return series
