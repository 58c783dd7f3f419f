"""Watching a service from outside: how far the log and the outbox are, and how much memory all of it takes."""

from __future__ import annotations

import threading
import time
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from headrace.service.processes.process_table import memory_bytes

if TYPE_CHECKING:
    import numpy.typing as npt

    from headrace_bench.log_ends import Ends

_LOOK_SECONDS = 0.002
# A look at brokers costs them and this process something: most of the time has to be left to what is measured.
_REST = 4
_MEMORY_SECONDS = 2.0


class RouteWatch:
    """Notes when the ends move, every few milliseconds, from its entry to its exit."""

    def __init__(self, ends: Ends, session: int) -> None:
        self._ends = ends
        self._session = session
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="headrace-watch", daemon=True)
        self._looks: list[tuple[float, int, int]] = []
        self.memory: list[tuple[float, int]] = []

    def __enter__(self) -> Self:
        self._looks.append(self._look())
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    @property
    def behind(self) -> int:
        """How many events wait to be routed now."""
        _, accepted, routed = self._look()
        return accepted - routed

    def latencies(self) -> list[float]:
        """Return how long each event took from its 202, which follows the log's end, to the outbox, in seconds."""
        times, accepted, routed = self._columns()
        positions = np.arange(accepted[0], routed[-1])
        if not len(positions):
            return []
        taken: list[float] = (
            _passed(times, routed, positions) - _passed(times, accepted, positions)
        ).tolist()
        return taken

    def lag(self) -> list[int]:
        """Return the most events that waited to be routed, second by second."""
        times, accepted, routed = self._columns()
        seconds = (times - times[0]).astype(int)
        edges = np.flatnonzero(np.diff(seconds, prepend=-1))
        ends = [*edges.tolist(), len(seconds)]
        return [int((accepted - routed)[start:end].max()) for start, end in pairwise(ends)]

    def rate(self) -> float:
        """Return the events routed per second, from the first that was to the last."""
        times, _, routed = self._columns()
        moved = np.flatnonzero(np.diff(routed))
        if len(moved) < 2:
            return 0.0
        first, last = moved[0] + 1, moved[-1] + 1
        return float((routed[last] - routed[first]) / (times[last] - times[first]))

    def _columns(self) -> tuple[npt.NDArray[Any], ...]:
        times, accepted, routed = zip(*self._looks, strict=True)
        return np.array(times), np.array(accepted), np.array(routed)

    def _look(self) -> tuple[float, int, int]:
        accepted, routed = self._ends()
        return time.monotonic(), accepted, routed

    def _run(self) -> None:
        weighed = 0.0
        pause = _LOOK_SECONDS
        while not self._stop.wait(pause):
            began = time.monotonic()
            look = self._look()
            pause = max(_LOOK_SECONDS, _REST * (look[0] - began))
            if look[1:] != self._looks[-1][1:]:
                self._looks.append(look)
            if look[0] - weighed > _MEMORY_SECONDS:
                weighed = look[0]
                self.memory.append((look[0], memory_bytes(self._session)))


def _passed(times: npt.NDArray[Any], ends: npt.NDArray[Any], positions: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """Return when an end first lay behind each position."""
    seen: npt.NDArray[Any] = times[np.searchsorted(ends, positions, side="right")]
    return seen
