"""Reading single events of a log: neighbours together, without what lies far between them."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.eventlog.removed import read_left
from headrace.events.batch import coalesce, from_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader
    from headrace.events.recorded import Recorded

_log = logging.getLogger(__name__)
_FAR = 1000


def pick(log: LogReader, positions: Iterable[int]) -> dict[int, Recorded]:
    """Return the events at these positions; what can't be read any more is left out."""
    start, end = log.start(), log.end()
    kept = {each for each in positions if end.is_behind(each) and not start.is_behind(each)}
    found: dict[int, Recorded] = {}
    for run in _runs(sorted(kept)):
        found |= _read(log, run)
    return found


class Picker:
    """Reads single events for any number of threads, one at a time: a reader of the log is for one."""

    def __init__(self, log: LogReader) -> None:
        self._log = log
        self._lock = threading.Lock()

    def __call__(self, positions: Iterable[int]) -> dict[int, Recorded]:
        """Return the events at these positions; what can't be read any more is left out."""
        with self._lock:
            return pick(self._log, positions)


def _read(log: LogReader, run: list[int]) -> dict[int, Recorded]:
    wanted = pa.array(run, pa.int64())
    batches = coalesce(read_left(log, run[0], run[-1] + 1, _tell))
    chosen = (batch.filter(pc.is_in(batch["position"], value_set=wanted)) for batch in batches)
    return {recorded.position: recorded for batch in chosen for recorded in from_batch(batch)}


def _tell(damage: Damage) -> None:
    _log.warning("positions %d to %d can't be read: %s", damage.start, damage.end - 1, damage.problem)


def _runs(positions: list[int]) -> Iterator[list[int]]:
    start = 0
    for index in range(1, len(positions) + 1):
        if index == len(positions) or positions[index] - positions[index - 1] > _FAR:
            yield positions[start:index]
            start = index
