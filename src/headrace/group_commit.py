"""Group commit: work that comes in during a commit shares the next one, since each has a price whatever its size."""

from __future__ import annotations

import asyncio
from itertools import accumulate
from typing import TYPE_CHECKING, Generic, NamedTuple, TypeVar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

_Work = TypeVar("_Work")
_Result = TypeVar("_Result")


class Room:
    """Bounds what waits in memory; more is refused with `full`, given the size of what waits. For one event loop."""

    def __init__(self, most: int, full: Callable[[int], Exception]) -> None:
        self._most = most
        self._full = full
        self._taken = 0

    def take(self, size: int) -> None:
        """Take room for something; whatever its size, it fits where nothing waits."""
        if self._taken and self._taken + size > self._most:
            raise self._full(self._taken)
        self._taken += size

    def give_back(self, size: int) -> None:
        """Leave it to others."""
        self._taken -= size


class _Piece(NamedTuple, Generic[_Work, _Result]):
    work: _Work
    size: int
    done: asyncio.Future[_Result]


class GroupCommit(Generic[_Work, _Result]):
    """For one event loop. `commit` gets a group in the order in which it came in, and returns a result for each piece.

    A group is smaller than `at_once`, or one piece. What `commit` raises goes to those who wait for its group; where
    nothing of the group was committed, as `is_undone` says, each piece is tried alone, so that one doesn't fail the
    others. Who gives up waiting takes nothing back: the work is done, and has its room until then.
    """

    def __init__(
        self,
        commit: Callable[[Sequence[_Work]], Awaitable[Sequence[_Result]]],
        room: Room,
        at_once: int,
        is_undone: Callable[[Exception], bool] = lambda _: False,
    ) -> None:
        self._commit = commit
        self._room = room
        self._at_once = at_once
        self._is_undone = is_undone
        self._waiting: list[_Piece[_Work, _Result]] = []
        self._committing: asyncio.Task[None] | None = None

    def submit(self, work: _Work, size: int) -> asyncio.Future[_Result]:
        """Put work into the next group; its future is done once it is committed."""
        self._room.take(size)
        loop = asyncio.get_running_loop()
        piece = _Piece[_Work, _Result](work, size, loop.create_future())
        self._waiting.append(piece)
        if self._committing is None:
            self._committing = loop.create_task(self._commit_all())
        return piece.done

    async def finish(self) -> None:
        """Wait until all that was submitted is settled; who gives that up doesn't stop it."""
        if self._committing is not None:
            await asyncio.shield(self._committing)

    async def _commit_all(self) -> None:
        try:
            while self._waiting:
                group = self._next_group()
                await self._settle(group)
                del self._waiting[: len(group)]
                self._room.give_back(sum(piece.size for piece in group))
        finally:
            self._committing = None
            cancelled, self._waiting = self._waiting, []  # there are some only if this was cancelled
            for piece in cancelled:
                piece.done.cancel()
                self._room.give_back(piece.size)

    def _next_group(self) -> list[_Piece[_Work, _Result]]:
        sizes = accumulate(piece.size for piece in self._waiting)
        return self._waiting[: sum(1 for size in sizes if size < self._at_once) or 1]

    async def _settle(self, group: list[_Piece[_Work, _Result]]) -> None:
        try:
            results = await self._commit([piece.work for piece in group])
            settled = list(zip(group, results, strict=True))
        except Exception as error:  # noqa: BLE001  each who waits must hear of it
            if len(group) > 1 and self._is_undone(error):
                for piece in group:
                    await self._settle([piece])
                return
            for piece in group:
                if not piece.done.done():
                    piece.done.set_exception(error)
        else:
            for piece, result in settled:
                if not piece.done.done():
                    piece.done.set_result(result)
