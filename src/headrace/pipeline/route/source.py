"""The stream source: from ranges of log positions to planned deliveries, without the events themselves.

Spark plans in one long-lived Python process beside the driver. It decides where a batch ends first and which
subscriptions it is matched against second; that order is what lets a subscription miss no event. Matching is part of
reading: a batch passes one Python worker, not one to read and another to match.
"""

from __future__ import annotations

import random
import time
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition

from headrace.errors import LogExpired
from headrace.eventlog.location import open_log
from headrace.events.positions import MOST_LANES, Cut, lane_of
from headrace.matching.settings import MatchingSettings
from headrace.pipeline.roster.shards import ShardedRosters
from headrace.pipeline.route.plan import PLAN
from headrace.pipeline.route.suspects import Suspect
from headrace.pipeline.route.worker import match_ranges
from headrace.pipeline.spark.cluster import check_version
from headrace.subscriptions.store.store import Store
from headrace.telemetry.heartbeat import Heartbeat
from headrace.telemetry.metrics import ROUTE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from pyspark.sql.streaming.datasource import ReadLimit
    from pyspark.sql.types import StructType

# How long one call may wait for events: a stop has to get through in between.
_LONGEST_WAIT = 1.0
# A stream that was still for this long is looked at half as often.
_IDLE_AFTER = 1.0
# Batches without events after a start: they bring up the Python workers before anything depends on them.
WARM_UP_TICKS = 3

Offset = dict[str, Any]


class Task(NamedTuple):
    """Ranges of positions, where to read them, and whom to match them against."""

    log: str
    roster: str
    ranges: list[tuple[int, int]]


class LogSource(DataSource):
    """`spark.readStream.format("headrace")`; the options are those that `route` gives."""

    @classmethod
    def name(cls) -> str:
        """Return what `format(...)` calls it."""
        return "headrace"

    def schema(self) -> str:
        """Return the columns of a plan."""
        return PLAN

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: ARG002, N802
        """Make the reader."""
        return _Reader(self.options)


class _Reader(DataSourceStreamReader):
    """An offset is a cut and a count of ticks; a tick is a batch without events that keeps workers alive.

    Spark sends copies of it to the workers, which only `read`; what it needs for planning stays behind.
    """

    def __init__(self, options: Mapping[str, str]) -> None:
        self._options = dict(options)

    def __getstate__(self) -> dict[str, Any]:
        return {"_options": self._options}

    @cached_property
    def _planner(self) -> _Planner:
        return _Planner(self._options)

    def initialOffset(self) -> Offset:  # noqa: N802
        """Begin where the outbox ends. Spark's checkpoint is new at every start, so this is always asked."""
        return _offset(Cut.from_json(self._options["begin"]), 0)

    def latestOffset(self, start: Offset, limit: ReadLimit) -> Offset:  # noqa: ARG002, N802
        """Return the end of the next batch, waiting a while for events to arrive."""
        return self._planner.next_end(start)

    def partitions(self, start: Offset, end: Offset) -> Sequence[InputPartition]:
        """Cut the batch into tasks of one size for each shard, with the subscriptions as they are now."""
        return [InputPartition(task) for task in self._planner.tasks(_cut_of(start), _cut_of(end))]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        """Match the ranges of a task. Runs in a worker."""
        check_version(self._options["version"])
        return match_ranges(*partition.value)


class _Planner:
    """The state of the source, in the one process that plans batches."""

    def __init__(self, options: Mapping[str, str]) -> None:
        _beat_to(options["beat"])
        self._place = options["log"]
        self._log = open_log(self._place)
        matching = msgspec.json.decode(options["matching"], type=MatchingSettings)
        self._rosters = ShardedRosters(
            Path(options["rosters"]), Store(options["store"]), self._log.end, matching
        )
        self._max_events = int(options["max_events"])
        self._is_cautious = self._max_events == 1
        self._max_bytes = int(options["max_bytes"])
        self._min_per_task = int(options["min_per_task"])
        self._tasks = int(options["tasks"])
        self._poll = max(float(options["poll"]), self._log.least_poll_seconds)
        self._tick = float(options["tick"])
        self._suspect = Suspect(Path(options["suspect"]))
        self._turn = random.randrange(MOST_LANES)  # that no lane is always the last
        self._last_batch = time.monotonic()

    def next_end(self, start: Offset) -> Offset:
        deadline = time.monotonic() + _LONGEST_WAIT
        begin = _cut_of(start)
        if self._is_cautious and start["tick"] < WARM_UP_TICKS:
            return _offset(begin, start["tick"] + 1)  # whoever dies of these dies of no event
        while True:
            end = self._log.end()
            if not end <= begin:
                return _offset(self._end_of_batch(begin, end), start["tick"])
            now = time.monotonic()
            if start["tick"] < WARM_UP_TICKS or now - self._last_batch > self._tick:
                return _offset(begin, start["tick"] + 1)
            if now > deadline:
                return start
            is_idle = now - self._last_batch > _IDLE_AFTER
            time.sleep(self._poll * 2 if is_idle else self._poll)

    def _end_of_batch(self, start: Cut, end: Cut) -> Cut:
        self._turn += 1
        ranges = list(start.ranges_to(_limited(start, end, self._max_events, self._turn)))
        most_bytes = self._max_bytes // len(ranges)
        return start.join(Cut.at(*(self._reach(*each, most_bytes) for each in ranges)))

    def _reach(self, start: int, end: int, most_bytes: int) -> int:
        """Return where a range ends; what the log has removed is a range of its own, which workers set aside."""
        try:
            return self._log.reach(start, end, most_bytes)
        except LogExpired:
            first = min(self._log.start()[lane_of(start)], end)
            if first <= start:
                raise
            return first

    def tasks(self, start: Cut, end: Cut) -> list[Task]:
        self._last_batch = time.monotonic()
        with ROUTE_SECONDS.labels("source").time():
            rosters = [str(each) for each in self._rosters.current(start)]
        most = -(-self._tasks // len(rosters))
        tasks = max(1, min(most, start.count_to(end) // self._min_per_task))
        ranges = list(start.ranges_to(end)) or [(0, 0)]  # a tick
        if self._is_cautious:
            self._suspect.note(ranges)
        return [Task(self._place, roster, dealt) for roster in rosters for dealt in _deal(ranges, tasks)]


@lru_cache(maxsize=1)
def _beat_to(path: str) -> Heartbeat:
    """Tell the driver what this process does: one that compiles many filters isn't stuck."""
    return Heartbeat(Path(path)).start()


def _offset(cut: Cut, tick: int) -> Offset:
    return {"cut": cut.to_json(), "tick": tick}


def _cut_of(offset: Offset) -> Cut:
    return Cut.from_json(offset["cut"])


def _limited(start: Cut, end: Cut, most: int, turn: int = 0) -> Cut:
    """Return the end of a batch of about so many events: of each lane the same part of what waits there.

    Where that is less than one event for each, lanes take turns.
    """
    waiting = start.count_to(end)
    if waiting <= most:
        return start.join(end)
    ranges = list(start.ranges_to(end))
    if most < len(ranges):
        chosen = [ranges[(turn + number) % len(ranges)] for number in range(most)]
        return start.join(Cut.at(*(first + 1 for first, _ in chosen)))
    ends = [first + max(1, (last - first) * most // waiting) for first, last in ranges]
    return start.join(Cut.at(*ends))


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
