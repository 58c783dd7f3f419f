"""How often the Bloom filters err, as the events that are matched show, and when to build one anew.

A look-up is in vain where no live subscription asks for the value; one in vain that passes all the same is a false
positive, whether chance let it pass or a subscription that was removed since the filter was built.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.matching.index.bloom import OFF

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy.typing as npt

    from headrace.matching.scope import Channel
    from headrace.matching.settings import BloomSettings

ENOUGH = 10_000
"""A rate of 1 % is told from one of 2 % by so many look-ups in vain, with certainty for all practical purposes."""


@dataclass(frozen=True, slots=True)
class BloomState:
    """A collection's filter: its version and when it was built, by the clock of the watch, and look-ups since then.

    `wanted` look-ups found something that a live subscription asks for; it is an estimate where some were removed.
    """

    version: int
    built: float
    asked: int = 0
    passed: int = 0
    wanted: float = 0.0

    @property
    def in_vain(self) -> float:
        """How many look-ups no live subscription asks for."""
        return self.asked - self.wanted

    @property
    def fp_rate(self) -> float | None:
        """Which share of the look-ups in vain passed; None before there was one."""
        return (self.passed - self.wanted) / self.in_vain if self.in_vain > 0 else None

    def plus(self, asked: int, passed: int, wanted: float) -> BloomState:
        """Count more look-ups."""
        return replace(
            self, asked=self.asked + asked, passed=self.passed + passed, wanted=self.wanted + wanted
        )


@dataclass(slots=True)
class _Watched:
    """What is known of a collection; `recent` counts from when it was last looked at."""

    total: BloomState
    recent: BloomState


class BloomWatch:
    """Counts the look-ups of each collection. Any number of threads may note; each call takes constant time.

    The collection None is that of subscriptions without a scope.
    """

    def __init__(
        self, settings: BloomSettings, clock: Callable[[], float] = time.monotonic, enough: int = ENOUGH
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._enough = enough
        self._lock = threading.Lock()
        self._watched: dict[Channel | None, _Watched] = {}

    def note(self, channel: Channel | None, counts: npt.NDArray[Any], removed: float = 0.0) -> bool:
        """Add what a walk counted, and say whether the filter should be built anew.

        `removed` is the share of the level's members who were removed since it was built: as large a share of
        what was found is taken to be theirs.
        """
        asked, passed = int(counts["asked"]), int(counts["passed"])
        wanted = int(counts["found"]) * (1.0 - removed)
        with self._lock:
            watched = self._of(channel)
            watched.total = watched.total.plus(asked, passed, wanted)
            watched.recent = watched.recent.plus(asked, passed, wanted)
            return self._look(watched)

    def should_rebuild(self, channel: Channel | None) -> bool:
        """Say whether the filter should be built anew; where this is true, it is said once per interval."""
        with self._lock:
            watched = self._watched.get(channel)
            return watched is not None and self._look(watched)

    def rebuilt(self, channel: Channel | None) -> None:
        """Note that the filter was built anew: the next version counts from zero."""
        with self._lock:
            state = BloomState(self._of(channel).total.version + 1, self._clock())
            self._watched[channel] = _Watched(state, state)

    def state(self, channel: Channel | None) -> BloomState:
        """Return the filter's version, age and counts."""
        with self._lock:
            return self._of(channel).total

    def states(self) -> dict[Channel | None, BloomState]:
        """Return the states of all collections that were looked up in."""
        with self._lock:
            return {channel: watched.total for channel, watched in self._watched.items()}

    def _of(self, channel: Channel | None) -> _Watched:
        watched = self._watched.get(channel)
        if watched is None:
            state = BloomState(1, self._clock())
            watched = self._watched[channel] = _Watched(state, state)
        return watched

    def _look(self, watched: _Watched) -> bool:
        """Look at a rate once per interval, as soon as there are look-ups enough to tell."""
        recent, now = watched.recent, self._clock()
        if now - recent.built < self._settings.rebuild_interval or recent.in_vain < self._enough:
            return False
        rate = recent.fp_rate
        watched.recent = BloomState(recent.version, now)
        return (
            rate is not None and rate > self._settings.rebuild_fp_threshold and self._settings.fp_rate < OFF
        )
