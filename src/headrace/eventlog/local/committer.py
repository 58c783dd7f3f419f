"""The writer of the embedded log: requests that arrive while a sync is under way share the next one."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from itertools import accumulate
from typing import TYPE_CHECKING

from headrace.errors import LogUnavailable, first_line
from headrace.eventlog.log import room_for_events
from headrace.group_commit import GroupCommit
from headrace.telemetry.health import FOREVER, HEALTH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.eventlog.local.writer import SegmentWriter
    from headrace.events.recorded import Arrival

PART = "log"
"""Its name in the health report. It promises no report between two commits: events come when they come."""

_MAX_COMMIT_BYTES = 16 << 20


class GroupCommitter:
    """A LogWriter for one event loop. The writer belongs to the committing thread from here on."""

    def __init__(self, writer: SegmentWriter, max_pending_bytes: int) -> None:
        self._writer = writer
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="log-commit")
        self._loop = asyncio.get_running_loop()
        self._group = GroupCommit(self._commit, room_for_events(max_pending_bytes), _MAX_COMMIT_BYTES)
        self._closed = False
        self._is_failing = False

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Make the events durable, all or none, and return the position of the first."""
        if self._closed:
            raise LogUnavailable("the service is shutting down")
        return await self._group.submit(arrivals, size)

    async def close(self) -> None:
        """Finish what was accepted, then refuse more and close the log."""
        self._closed = True
        await self._group.finish()
        await self._loop.run_in_executor(self._thread, self._writer.close)
        self._thread.shutdown()

    async def _commit(self, requests: Sequence[Sequence[Arrival]]) -> list[int]:
        arrivals = [arrival for request in requests for arrival in request]
        if not self._is_failing:  # trying again isn't success yet
            HEALTH.working(PART, f"storing {len(arrivals):,} events")
        try:
            first = await self._loop.run_in_executor(self._thread, self._writer.append, arrivals)
        except Exception as error:
            self._is_failing = True
            HEALTH.blocked(PART, f"{first_line(error)}; check that its disk works and has free space")
            raise
        self._is_failing = False
        HEALTH.working(PART, f"stored events from position {first} on", FOREVER)
        return list(accumulate(map(len, requests[:-1]), initial=first))
