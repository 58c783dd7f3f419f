"""Lookup of single events in a log: neighbours are read together, and long gaps between them skipped."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.eventlog.log import read_remaining
from headrace.events.batch import coalesce, from_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader
    from headrace.events.recorded import Recorded

_log = logging.getLogger(__name__)
_FAR = 1000


def read_events_at(log: LogReader, positions: Iterable[int]) -> dict[int, Recorded]:
    """Return the events at these positions, without those that can no longer be read."""
    start, end = log.start(), log.end()
    kept = {each for each in positions if end.is_behind(each) and not start.is_behind(each)}
    found: dict[int, Recorded] = {}
    for run in _runs(sorted(kept)):
        found |= _read(log, run)
    return found


class EventLookup:
    """Looks up events for any number of threads, one at a time: a log reader is for one thread."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._lock = threading.Lock()

    def __call__(self, positions: Iterable[int]) -> dict[int, Recorded]:
        """Return the events at these positions, without those that can no longer be read."""
        with self._lock:
            return read_events_at(self._log, positions)


def _read(log: LogReader, run: list[int]) -> dict[int, Recorded]:
    wanted = pa.array(run, pa.int64())
    batches = coalesce(read_remaining(log, run[0], run[-1] + 1, _warn))
    chosen = (batch.filter(pc.is_in(batch["position"], value_set=wanted)) for batch in batches)
    return {recorded.position: recorded for batch in chosen for recorded in from_batch(batch)}


def _warn(damage: Damage) -> None:
    _log.warning("can't read positions %d to %d: %s", damage.start, damage.end - 1, damage.problem)


def _runs(positions: list[int]) -> Iterator[list[int]]:
    start = 0
    for index in range(1, len(positions) + 1):
        if index == len(positions) or positions[index] - positions[index - 1] > _FAR:
            yield positions[start:index]
            start = index
