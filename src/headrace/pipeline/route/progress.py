"""Whether the route gets on: what the driver reports once a second."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.errors import HeadraceError, first_line
from headrace.telemetry.health import HEALTH, Status
from headrace.telemetry.heartbeat import read_beat

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from headrace.events.positions import LogPosition

PART = "route"
_LOOK_SECONDS = 1.0
# The thread that looks waits for the JVM at times.
_SILENT_AFTER = 20.0
# A batch takes a second or two at most, and what takes longer says so.
_STALLED_AFTER = 30.0
_BEAT_LASTS = 10.0


class RouteProgress:
    """Compares the end of the log with what the outbox covers. Belongs to the thread that runs the route.

    A failure counts until the route has got beyond it: a query that starts, and fails again, isn't well in between.
    """

    def __init__(
        self, end_of_log: Callable[[], LogPosition], covered: Callable[[], LogPosition], planner: Path
    ) -> None:
        self._end_of_log = end_of_log
        self._covered = covered
        self._planner = planner
        self._seen: tuple[LogPosition, int] | None = None
        self._moved_at = self._looked_at = 0.0
        self._failed_at: LogPosition | None = None

    def failed(self, error: BaseException | None) -> None:
        """Take note that the query failed, and starts again."""
        self._failed_at = covered = self._covered()
        reason = "the query ended" if error is None else first_line(error)
        HEALTH.blocked(
            PART,
            f"it failed and starts again from position {covered}: {reason}; if it repeats, see pipeline/spark.log",
        )

    def look(self, batches: int, *, is_warm: bool) -> None:
        """Report how the route gets on, once a second at most; `batches` are those of this query, ticks included."""
        now = time.monotonic()
        if now - self._looked_at < _LOOK_SECONDS:
            return
        self._looked_at = now
        try:
            self._report(now, batches, is_warm=is_warm)
        except (HeadraceError, OSError) as error:
            HEALTH.blocked(PART, f"how far the log goes can't be read: {first_line(error)}")

    def _report(self, now: float, batches: int, *, is_warm: bool) -> None:
        covered, end = self._covered(), self._end_of_log()
        if (covered, batches) != self._seen:
            self._seen, self._moved_at = (covered, batches), now
        is_done = end <= covered
        if self._failed_at is not None:
            if covered == self._failed_at and not (is_done and is_warm):
                return
            self._failed_at = None
        if work := self._work_of_planner(now):
            self._moved_at = now
            HEALTH.working(PART, work, _SILENT_AFTER)
        elif is_done:
            self._moved_at = now
            HEALTH.idle(
                PART, f"no events are waiting; all are routed up to position {covered}", _SILENT_AFTER
            )
        else:
            self._report_batch(covered.count_to(end), covered, now - self._moved_at)

    def _report_batch(self, waiting: int, covered: LogPosition, seconds: float) -> None:
        if seconds < _STALLED_AFTER:
            HEALTH.working(
                PART, f"routed up to position {covered}; {waiting:,} events are waiting", _SILENT_AFTER
            )
        else:
            HEALTH.blocked(
                PART,
                f"{waiting:,} events wait behind position {covered}, and no batch has ended for {seconds:.0f} s; "
                "see pipeline/spark.log, or kill the role: it is started again",
            )

    def _work_of_planner(self, now: float) -> str | None:
        """Return what the process that plans batches does that takes long, if it does."""
        beat = read_beat(self._planner)
        if beat is None or beat.age(now) > _BEAT_LASTS:
            return None
        return next((each.note for each in beat.reports.values() if each.status is Status.WORKING), None)
