"""How long an event loop stands still, measured so that it doesn't matter who else uses the machine.

The clock on the wall is no measure where a thread waits for a core. What is counted of the time between two turns of the
loop is what can only be the service's own doing, and the longest of these is the standstill:

- work: what the loop's thread computed, by its own clock;
- held: it slept while another thread of Python computed and may have had the interpreter; no longer than that computed;
- blocked: it slept in a call. Who waits for the interpreter wakes up every few milliseconds, who is blocked does not.

The kernel keeps account of how long the loop's thread was ready to run and had no core, and of how often it ran. That time,
and what the host took from this machine, is taken off the time that it slept.
"""

import asyncio
import os
import sys
import threading
import time
from pathlib import Path
from typing import NamedTuple, Self

_TICK_SECONDS = 0.01
_STOLEN_FIELD, _TICKS_PER_SECOND = 8, 100


class _Reading(NamedTuple):
    wall: float
    worked: float
    others: dict[int, float]
    waited: float
    runs: int
    stolen: float


class Watchdog:
    """Turns on the loop that it watches; `longest` is the longest standstill since the last reset, and what it was."""

    def __init__(self) -> None:
        self.longest = (0.0, "")

    def reset(self) -> None:
        self.longest = (0.0, "")

    async def run(self) -> None:
        with _Kernel() as kernel:
            before = kernel.read()
            while True:
                await asyncio.sleep(_TICK_SECONDS)
                after = kernel.read()
                self.longest = max(self.longest, _standstill(before, after))
                before = after


def _standstill(before: _Reading, after: _Reading) -> tuple[float, str]:
    work = after.worked - before.worked
    absent = after.waited - before.waited + after.stolen - before.stolen
    slept = after.wall - before.wall - _TICK_SECONDS - work - absent
    computed = max(
        (now - before.others.get(thread, 0.0) for thread, now in after.others.items()), default=0.0
    )
    blocked = slept - (after.runs - before.runs) * sys.getswitchinterval()
    return max((work, "work"), (min(slept, computed), "held"), (blocked, "blocked"))


class _Kernel:
    """What is known of the thread that enters. Be careful: each file that is read lets other threads have the interpreter."""

    def __enter__(self) -> Self:
        self._own = threading.get_ident()
        thread = Path(f"/proc/self/task/{threading.get_native_id()}/schedstat")
        self._files = [os.open(path, os.O_RDONLY) for path in (thread, "/proc/stat")]
        return self

    def __exit__(self, *_: object) -> None:
        for file in self._files:
            os.close(file)

    def read(self) -> _Reading:
        wall, worked, others = time.perf_counter(), time.thread_time(), self._others()
        thread, machine = (os.pread(file, 200, 0).split() for file in self._files)
        stolen = int(machine[_STOLEN_FIELD]) / _TICKS_PER_SECOND
        return _Reading(wall, worked, others, int(thread[1]) / 1e9, int(thread[2]), stolen)

    def _others(self) -> dict[int, float]:
        """How long each other thread of Python computed. None of them can end meanwhile: that takes the interpreter."""
        found = (thread.ident for thread in threading.enumerate() if thread.ident not in (None, self._own))
        return {ident: time.clock_gettime(time.pthread_getcpuclockid(ident)) for ident in found}
