"""Work that takes a core: reading large documents, compiling filters.

It is done in threads, a few at a time: each of them wants the interpreter as much as the event loop does, and with many
of them the loop would get it seldom. Whoever comes while all are busy waits.
"""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
from typing import TYPE_CHECKING, ParamSpec, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

_AT_ONCE = 2
_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_THREADS = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="computation")


async def compute(work: Callable[_Given, _Made], *given: _Given.args, **named: _Given.kwargs) -> _Made:
    """Return what the work makes of what it is given, in the context of whoever asks, as `asyncio.to_thread` would."""
    context = copy_context()
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREADS, lambda: context.run(work, *given, **named))
