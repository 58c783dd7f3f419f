"""Group commit: requests that arrive while a sync is under way share the next one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogUnavailable, first_line
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.eventlog.local.writer import SegmentWriter
    from headrace.events.recorded import Arrival

PART = "log"
"""Its name in the health report. It promises no report between two commits: events come when they come."""

_MAX_COMMIT_BYTES = 16 << 20


class _Request(NamedTuple):
    arrivals: Sequence[Arrival]
    size: int
    done: asyncio.Future[int]


class GroupCommitter:
    """A LogWriter for one event loop. The writer belongs to the committing thread from here on.

    At most `max_pending_bytes` of events wait in memory; more are refused, never dropped later.
    """

    def __init__(self, writer: SegmentWriter, max_pending_bytes: int) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log-commit")
        self._loop = asyncio.get_running_loop()
        self._max_pending_bytes = max_pending_bytes
        self._waiting: list[_Request] = []
        self._pending_bytes = 0
        self._committing: asyncio.Task[None] | None = None
        self._closed = False
        self._is_failing = False

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Make the events durable, all or none, and return the position of the first."""
        if self._closed:
            raise LogUnavailable("the service is shutting down")
        if self._pending_bytes and self._pending_bytes + size > self._max_pending_bytes:
            raise LogUnavailable(f"{self._pending_bytes} bytes wait to be stored already")
        request = _Request(arrivals, size, self._loop.create_future())
        self._pending_bytes += size
        self._waiting.append(request)
        if self._committing is None:
            self._committing = self._loop.create_task(self._commit_all())
        return await request.done

    async def close(self) -> None:
        """Finish what was accepted, then refuse more and close the log."""
        self._closed = True
        if self._committing is not None:
            await asyncio.shield(self._committing)  # a cancelled close must not cancel the commit
        await self._loop.run_in_executor(self._thread, self._writer.close)
        self._thread.shutdown()

    async def _commit_all(self) -> None:
        while self._waiting:
            group = self._next_group()
            arrivals = [arrival for request in group for arrival in request.arrivals]
            if not self._is_failing:  # trying again isn't success yet
                HEALTH.working(PART, f"storing {len(arrivals):,} events")
            try:
                position = await self._loop.run_in_executor(self._thread, self._writer.append, arrivals)
            except Exception as error:  # noqa: BLE001  each waiting request must hear of it
                self._fail(group, error)
            else:
                self._settle(group, position)
        self._committing = None

    def _next_group(self) -> list[_Request]:
        sizes = accumulate(request.size for request in self._waiting)
        count = sum(1 for size in sizes if size < _MAX_COMMIT_BYTES) or 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

    def _settle(self, group: list[_Request], position: int) -> None:
        self._is_failing = False
        HEALTH.working(PART, f"stored events from position {position} on", FOREVER)
        for request in group:
            self._pending_bytes -= request.size
            if not request.done.done():
                request.done.set_result(position)
            position += len(request.arrivals)

    def _fail(self, group: list[_Request], error: Exception) -> None:
        self._is_failing = True
        HEALTH.blocked(PART, f"{first_line(error)}; check that its disk works and has free space")
        for request in group:
            self._pending_bytes -= request.size
            if not request.done.done():
                request.done.set_exception(error)
