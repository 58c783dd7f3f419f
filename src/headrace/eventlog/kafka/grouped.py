"""Group commit of batched requests: those that arrive during a transaction share the next one.

A transaction costs round trips whatever its size, and a writer has one at a time. All of a request's events are seen
or none, since that is so for the transaction. If a shared one was certainly aborted, each request is tried alone: one
that the brokers refuse must not fail the others.
"""

from __future__ import annotations

import asyncio
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from headrace.errors import LogUnavailable, PayloadTooLarge

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from concurrent.futures import ThreadPoolExecutor

    from headrace.events.recorded import Arrival

    Requests = Sequence[Sequence[Arrival]]

_MOST_BYTES = 8 << 20


class _Request(NamedTuple):
    arrivals: Sequence[Arrival]
    size: int
    done: asyncio.Future[int]


class GroupedTransactions:
    """For one event loop. `commit` runs in the thread and returns the position of each request's first event."""

    def __init__(self, commit: Callable[[Requests], list[int]], thread: ThreadPoolExecutor) -> None:
        self._commit = commit
        self._thread = thread
        self._loop = asyncio.get_running_loop()
        self._waiting: list[_Request] = []
        self._committing: asyncio.Task[None] | None = None

    async def append(self, arrivals: Sequence[Arrival], size: int) -> int:
        """Return the position of the first event once all are committed and visible."""
        request = _Request(arrivals, size, self._loop.create_future())
        self._waiting.append(request)
        if self._committing is None:
            self._committing = self._loop.create_task(self._commit_all())
        return await request.done

    async def finish(self) -> None:
        """Wait for requests that have begun."""
        if self._committing is not None:
            await asyncio.shield(self._committing)

    async def _commit_all(self) -> None:
        while self._waiting:
            await self._settle(self._next_group())
        self._committing = None

    def _next_group(self) -> list[_Request]:
        sizes = accumulate(request.size for request in self._waiting)
        count = sum(1 for size in sizes if size < _MOST_BYTES) or 1
        group, self._waiting = self._waiting[:count], self._waiting[count:]
        return group

    async def _settle(self, group: list[_Request]) -> None:
        requests = [request.arrivals for request in group]
        try:
            positions = await self._loop.run_in_executor(self._thread, self._commit, requests)
        except (LogUnavailable, PayloadTooLarge) as error:
            is_undone = isinstance(error, PayloadTooLarge) or error.is_certain
            if is_undone and len(group) > 1:
                for request in group:
                    await self._settle([request])
            else:
                _fail(group, error)
        except Exception as error:  # noqa: BLE001  each waiting request must hear of it
            _fail(group, error)
        else:
            for request, position in zip(group, positions, strict=True):
                if not request.done.done():
                    request.done.set_result(position)


def _fail(group: list[_Request], error: Exception) -> None:
    for request in group:
        if not request.done.done():
            request.done.set_exception(error)
