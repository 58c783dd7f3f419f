"""How long an event loop stands still, on a machine that others use, too.

The clock on the wall is no measure where the thread waits for a core. So of the time between two turns of the loop that
time is taken off for which its thread, and the one that may keep the interpreter from it, were ready to run and didn't:
the kernel keeps account of it. What is left is work on the loop, blocking calls, and waiting for the interpreter. It is
never less than what the thread worked: a thread that waits for the interpreter wakes up all the time, and waits for a
core each time, so that more may be taken off than was lost.
"""

import asyncio
import threading
import time
from pathlib import Path

_TICK_SECONDS = 0.01
_THREADS = Path("/proc/self/task")


class Watchdog:
    """Turns on the loop that it watches; `longest` is the longest standstill since the last reset, in seconds."""

    def __init__(self) -> None:
        self.longest = 0.0

    def reset(self) -> None:
        self.longest = 0.0

    async def run(self) -> None:
        own = str(threading.get_native_id())
        before, began, worked = _delays(), time.perf_counter(), time.thread_time()
        while True:
            await asyncio.sleep(_TICK_SECONDS)
            work = time.thread_time() - worked
            after, now = _delays(), time.perf_counter()
            waited = {thread: delay - before.get(thread, delay) for thread, delay in after.items()}
            mine = waited.pop(own, 0.0)
            still = now - began - _TICK_SECONDS - mine - max(waited.values(), default=0.0)
            self.longest = max(self.longest, still, work)
            before, began, worked = after, now, time.thread_time()


def _delays() -> dict[str, float]:
    """How long each thread was ready to run and had no core, in seconds."""
    found = {}
    for thread in _THREADS.iterdir():
        try:
            found[thread.name] = int((thread / "schedstat").read_text().split()[1]) / 1e9
        except (OSError, IndexError):
            continue  # it has just ended
    return found
