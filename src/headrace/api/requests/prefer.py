"""`Prefer: wait=…` (RFC 7240): the answer waits for something, up to a time."""

from __future__ import annotations

import asyncio
import re
import time
from typing import TYPE_CHECKING, TypeVar

from headrace.api.access.access import access_of

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

_LOOK_SECONDS = 0.05
_LONGEST_WAIT = 60
_WAIT = re.compile(r"(?:^|[,;\s])wait\s*=\s*([0-9]{1,9})(?:$|[,;\s])")
_Thing = TypeVar("_Thing")


def seconds_to_wait(request: Request) -> int:
    """Return how long the request asks to wait, at most a minute."""
    found = _WAIT.search(request.headers.get("prefer", ""))
    return min(int(found[1]), _LONGEST_WAIT) if found else 0


def preference_applied(request: Request) -> dict[str, str]:
    """Return the header that confirms the wait."""
    seconds = seconds_to_wait(request)
    return {"preference-applied": f"wait={seconds}"} if seconds else {}


async def wait_until(
    request: Request,
    is_over: Callable[[_Thing], bool],
    look: Callable[[], Awaitable[_Thing]],
    thing: _Thing,
    seconds: float,
) -> _Thing:
    """Call `look` until `is_over` or the time is up; return the last result. It raises if the caller loses access.

    It stops early when the client disconnects. Be careful: the request's body must have been read before.
    """
    deadline = time.monotonic() + seconds
    while not is_over(thing) and time.monotonic() < deadline:
        await asyncio.sleep(_LOOK_SECONDS)
        if await request.is_disconnected():
            break
        await access_of(request).renew()
        thing = await look()
    return thing


async def wait_for_any(*events: asyncio.Event, seconds: float) -> None:
    """Wait until one of the events is set, at most for so many seconds."""
    tasks = [asyncio.create_task(event.wait()) for event in events]
    try:
        await asyncio.wait(tasks, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
