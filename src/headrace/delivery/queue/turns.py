"""Work that comes in crowds, a little in each turn of the event loop, so that nobody else has to wait for all of it."""

from __future__ import annotations

import asyncio
from collections import deque
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


class TurnLimiter:
    """Lets so many pass in each turn of the event loop, in the order in which they came. For one event loop."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._left = most
        self._retries: deque[Callable[[], None]] = deque()
        self._is_turning = False

    def call(self, action: Callable[[], None]) -> None:
        """Act now, or in one of the next turns."""
        if not self._is_turning:
            self._is_turning = True
            loop = asyncio.get_running_loop()
            loop.call_soon(self._next, loop)
        if self._left:
            self._left -= 1
            action()
        else:
            self._retries.append(action)

    async def turn(self) -> float:
        """Wait for one's turn, and return the seconds that it took."""
        loop = asyncio.get_running_loop()
        passed: asyncio.Future[None] = loop.create_future()
        self.call(partial(_let_pass, passed))
        if passed.done():
            return 0.0
        began = loop.time()
        await passed
        return loop.time() - began

    def _next(self, loop: asyncio.AbstractEventLoop) -> None:
        self._left = self._most
        while self._retries and self._left:
            self._left -= 1
            self._retries.popleft()()
        self._is_turning = self._left < self._most
        if self._is_turning:
            loop.call_soon(self._next, loop)


def _let_pass(passed: asyncio.Future[None]) -> None:
    if not passed.done():  # whoever gave up
        passed.set_result(None)
