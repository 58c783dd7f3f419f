"""Seek: from now on a subscription is live behind the end of the log, and catches up from the point to there.

That is so in both directions: going back, what was delivered is found once more; going forward, what waits before the
point is dropped by the dispatcher, since the subscription isn't live there any more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.database.work_queue import State
from headrace.jobs.job import Job
from headrace.jobs.jobs import Jobs
from headrace.jobs.requests import CATCH_UP, ReplayRequest, parse_seek
from headrace.jobs.tables import JOBS
from headrace.pipeline.history.selection import HistorySelection
from headrace.pipeline.jobs.points import locate, point_at, shown
from headrace.pipeline.jobs.times import written_time

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from headrace.events.positions import LogPosition
    from headrace.pipeline.history.history import History
    from headrace.pipeline.jobs.run import JobRun


def run_seek(work: JobRun) -> None:
    """Find the point and, unless it is a dry run, deliver from there."""
    request = parse_seek(work.job.request)
    subscription = work.tools.store.get(work.subscription_id)
    history = work.tools.history()
    found = locate(history, subscription.channel, request.to, lambda part: work.tell(part, "searching"))
    if found is None:
        work.claim.finish({"found": False, "moved": False})
        return
    result = {"found": True, "position": shown(found), "moved": not request.dry_run}
    if request.to.needs_search:
        result["event"] = _first_event(history, found)
    if request.dry_run:
        work.claim.finish(result)
    else:
        _move(work, found, result)


def _first_event(history: History, cut: LogPosition) -> dict[str, Any]:
    """Show which event stands behind a cut; of several partitions, the first that was accepted."""
    spans = [(position, position + 1) for position, _ in cut.ranges_to(history.end)]
    rows = [
        row
        for span in spans
        for row in history.events(HistorySelection(positions=span))
        .select("position", "id", "source", "type", F.unix_micros("publish_time").alias("micros"))
        .collect()
    ]
    first = min(rows, key=lambda row: row["micros"])
    return {
        "position": first["position"],
        "id": first["id"],
        "source": first["source"],
        "type": first["type"],
        "publishTime": written_time(first["micros"]),
    }


def _move(work: JobRun, found: LogPosition, result: dict[str, Any]) -> None:
    """Move the subscription, hand over what lies between, and end the job: all of it or nothing."""
    # The end is read before the row is written, and not after it as for a new subscription: a batch that doesn't see
    # the change matches from an earlier position on, so it misses nothing.
    end = work.tools.end_of_log()
    asked = ReplayRequest(point_at(found)).document()
    catch_up = Job(CATCH_UP, asked, work.subscription_id, namespace=work.job.namespace)
    has_past = any(found.ranges_to(end))

    def also(connection: Connection) -> None:
        its = JOBS.c.subscription == work.subscription_id, JOBS.c.kind == CATCH_UP
        Jobs.end(connection, State.CANCELLED, *its, error="a seek moved the subscription elsewhere")
        if has_past:
            Jobs.put(connection, catch_up)
        work.claim.finish(result | ({"catchUp": catch_up.id} if has_past else {}), connection)

    work.tools.store.go_live(work.subscription_id, end, also)
