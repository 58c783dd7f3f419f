"""Clocks and quantiles: the same law for every engine.

Engines run passes over the same events. The first pass takes as many events as fit in the time; it warms up and
doesn't count. Each further pass takes these again, as often as fits in a tenth of the time since some clocks tick
slowly, and there are passes until the time is over. Rates are per second of the process's own processor time, so that
other work on the machine doesn't count, and per second of the clock on the wall.
"""

from __future__ import annotations

import statistics
import time
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

_Chunk = TypeVar("_Chunk")
_SHORTEST = 1e-6


class Passes(msgspec.Struct, frozen=True):
    """What one engine did: matches of each event it got to, in order, and the rate of each pass."""

    counts: list[int]
    rates: list[float]
    wall_rates: list[float]


class Spread(msgspec.Struct, frozen=True):
    """The slowest, the middle and the fastest pass."""

    min: float
    median: float
    max: float


def spread(rates: Sequence[float]) -> Spread:
    """Summarise passes."""
    return Spread(min(rates), statistics.median(rates), max(rates))


def passes(
    chunks: Iterable[_Chunk],
    count: Callable[[_Chunk], Sequence[int]],
    work: Callable[[_Chunk], Any],
    seconds: float,
) -> Passes:
    """Run passes: `count` says how many matches each event of a chunk has, `work` only finds them."""
    began = time.perf_counter()
    counts: list[int] = []
    done: list[_Chunk] = []
    for chunk in chunks:
        counts += count(chunk)
        done.append(chunk)
        if time.perf_counter() - began > seconds:
            break
    began = time.perf_counter()
    timings: list[tuple[float, float]] = []
    while not timings or time.perf_counter() - began < seconds:
        timings.append(_pass(done, work, seconds / 10))
    return Passes(
        counts,
        [len(counts) / max(cpu, _SHORTEST) for cpu, _ in timings],
        [len(counts) / max(wall, _SHORTEST) for _, wall in timings],
    )


def _pass(chunks: Sequence[_Chunk], work: Callable[[_Chunk], Any], seconds: float) -> tuple[float, float]:
    """Return the processor time and the wall time of one round through the chunks."""
    began, cpu, rounds = time.perf_counter(), time.process_time(), 0
    while not rounds or time.perf_counter() - began < seconds:
        for chunk in chunks:
            work(chunk)
        rounds += 1
    return (time.process_time() - cpu) / rounds, (time.perf_counter() - began) / rounds


def quantiles(nanoseconds: Sequence[int]) -> dict[str, float]:
    """Return p50, p99 and p99.9 in microseconds, and of how many."""
    ordered = sorted(nanoseconds)
    last = len(ordered) - 1
    found = {name: ordered[min(last, len(ordered) * part // 1000)] / 1000 for name, part in _PARTS.items()}
    return found | {"samples": len(ordered)}


_PARTS = {"p50": 500, "p99": 990, "p99.9": 999}
