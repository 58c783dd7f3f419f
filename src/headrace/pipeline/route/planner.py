"""Plan batches of the route: where each ends, and which subscriptions it is matched against.

Spark plans in one long-lived Python process next to the driver. Where a batch ends is decided first and whom it is
matched against second; that order is what lets a subscription miss no event.
"""

from __future__ import annotations

import random
import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from headrace.database.database import Database
from headrace.errors import LogExpired
from headrace.eventlog.location import open_log
from headrace.events.positions import MOST_PARTITIONS, LogPosition, partition_of
from headrace.heap import spare_pandas
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.shards import ShardedRosters
from headrace.pipeline.route.offsets import WARM_UP_TICKS, Offset, cut_of, offset_at
from headrace.pipeline.route.poison import IsolatedEvent
from headrace.subscriptions.store.store import Store
from headrace.telemetry.heartbeat import Heartbeat
from headrace.telemetry.metrics import ROUTE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping


# How long one call may wait for events: a stop has to get through in between.
_LONGEST_WAIT = 1.0
# A stream that was still for this long is looked at half as often.
_IDLE_AFTER = 1.0


class Task(NamedTuple):
    """Ranges of positions, where to read them, and whom to match them against."""

    log: str
    roster: str
    ranges: list[tuple[int, int]]


class Planner:
    """The state of the source, in the one process that plans batches."""

    def __init__(self, options: Mapping[str, str]) -> None:
        spare_pandas()
        _beat_to(options["beat"])
        self._location = options["log"]
        self._log = open_log(self._location)
        matching = msgspec.json.decode(options["matching"], type=MatchingSettings)
        self._rosters = ShardedRosters(
            Path(options["rosters"]), Store(Database(options["store"])), self._log.end, matching
        )
        self._max_events = int(options["max_events"])
        self._is_cautious = self._max_events == 1
        self._max_bytes = int(options["max_bytes"])
        self._min_per_task = int(options["min_per_task"])
        self._tasks = int(options["tasks"])
        self._poll = max(float(options["poll"]), self._log.least_poll_seconds)
        self._tick = float(options["tick"])
        self._suspect = IsolatedEvent(Path(options["suspect"]))
        self._turn = random.randrange(MOST_PARTITIONS)  # that no partition is always the last
        self._last_batch = time.monotonic()

    def next_end(self, start: Offset) -> Offset:
        """Return the end of the next batch, waiting a while for events to arrive."""
        deadline = time.monotonic() + _LONGEST_WAIT
        begin = cut_of(start)
        if self._is_cautious and start["tick"] < WARM_UP_TICKS:
            return offset_at(begin, start["tick"] + 1)  # whoever dies of these dies of no event
        while True:
            end = self._log.end()
            if not end <= begin:
                return offset_at(self._end_of_batch(begin, end), start["tick"])
            now = time.monotonic()
            if start["tick"] < WARM_UP_TICKS or now - self._last_batch > self._tick:
                return offset_at(begin, start["tick"] + 1)
            if now > deadline:
                return start
            is_idle = now - self._last_batch > _IDLE_AFTER
            time.sleep(self._poll * 2 if is_idle else self._poll)

    def _end_of_batch(self, start: LogPosition, end: LogPosition) -> LogPosition:
        self._turn += 1
        ranges = list(start.ranges_to(_limited(start, end, self._max_events, self._turn)))
        most_bytes = self._max_bytes // len(ranges)
        return start.join(LogPosition.at(*(self._reach(*each, most_bytes) for each in ranges)))

    def _reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return where a range ends; what the log has removed is a range of its own, which workers set aside."""
        try:
            return self._log.reach(start, end, most_bytes)
        except LogExpired:
            first = min(self._log.start()[partition_of(start)], end)
            if first <= start:
                raise
            return first

    def tasks(self, start: LogPosition, end: LogPosition) -> list[Task]:
        """Divide a batch into tasks, matched against the subscriptions as they are now."""
        self._last_batch = time.monotonic()
        with ROUTE_SECONDS.labels("source").time():
            rosters = [str(each) for each in self._rosters.current(start)]
        most = -(-self._tasks // len(rosters))
        tasks = max(1, min(most, start.count_to(end) // self._min_per_task))
        ranges = list(start.ranges_to(end)) or [(0, 0)]  # a tick
        if self._is_cautious:
            self._suspect.note(ranges)
        return [Task(self._location, roster, dealt) for roster in rosters for dealt in _deal(ranges, tasks)]


@lru_cache(maxsize=1)
def _beat_to(path: str) -> Heartbeat:
    """Tell the driver what this process does: one that compiles many filters isn't stuck."""
    return Heartbeat(Path(path)).start()


def _limited(start: LogPosition, end: LogPosition, most: int, turn: int = 0) -> LogPosition:
    """Return the end of a batch of about so many events: of each partition the same part of what waits there.

    Where that is less than one event for each, partitions take turns.
    """
    waiting = start.count_to(end)
    if waiting <= most:
        return start.join(end)
    ranges = list(start.ranges_to(end))
    if most < len(ranges):
        chosen = [ranges[(turn + number) % len(ranges)] for number in range(most)]
        return start.join(LogPosition.at(*(first + 1 for first, _ in chosen)))
    ends = [first + max(1, (last - first) * most // waiting) for first, last in ranges]
    return start.join(LogPosition.at(*ends))


def _deal(ranges: list[tuple[int, int]], tasks: int) -> list[list[tuple[int, int]]]:
    """Deal ranges out to tasks of nearly one size, cutting them where needed."""
    if tasks == 1:
        return [ranges]
    total = sum(end - start for start, end in ranges)
    dealt: list[list[tuple[int, int]]] = [[] for _ in range(tasks)]
    before = 0
    for start, end in ranges:
        for task in range(tasks):
            first = max(start, start + total * task // tasks - before)
            last = min(end, start + total * (task + 1) // tasks - before)
            if first < last:
                dealt[task].append((first, last))
        before += end - start
    return dealt
