"""Threads for work that takes a core: parsing large documents, compiling filters.

There are few of them, because each competes with the event loop for the interpreter. Work waits while all are busy.
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
    """Run a function in one of the threads, in the caller's context, as `asyncio.to_thread` does."""
    context = copy_context()
    loop = asyncio.get_running_loop()
    return await loop.run_in_executor(_THREADS, lambda: context.run(work, *given, **named))
