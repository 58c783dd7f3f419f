"""Things to find out about a server before a delivery: asked once, however many deliveries wait for the answer."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Generic, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Hashable

T = TypeVar("T")


class Questions(Generic[T]):
    """Questions under way. Who stops waiting for one doesn't take it from the others. For one event loop."""

    def __init__(self) -> None:
        self._tasks: dict[Hashable, asyncio.Task[T]] = {}

    async def ask(self, key: Hashable, question: Callable[[], Coroutine[None, None, T]]) -> T:
        """Return the answer, or raise what asking raised, to all who wait for it."""
        task = self._tasks.get(key)
        if task is None:
            task = self._tasks[key] = asyncio.create_task(question())
            task.add_done_callback(lambda done: self._end(key, done))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            waiting = asyncio.current_task()
            if task.cancelled() and waiting is not None and not waiting.cancelling():
                raise ConnectionError("closed before an answer came") from None
            raise

    async def close(self) -> None:
        """Stop asking; who still waits gets a ConnectionError."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _end(self, key: Hashable, done: asyncio.Task[T]) -> None:
        self._tasks.pop(key, None)
        if not done.cancelled():
            done.exception()  # whoever asked may have gone: nobody needs a warning then
