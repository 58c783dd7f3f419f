"""Reading single events of a log: neighbours together, without what lies far between them."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from headrace.events.batch import coalesce, from_batch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.eventlog.damage import Damage
    from headrace.eventlog.log import LogReader
    from headrace.events.batch import Recorded

_log = logging.getLogger(__name__)
_FAR = 1000


def pick(log: LogReader, positions: Iterable[int]) -> dict[int, Recorded]:
    """Return the events at these positions; what can't be read any more is left out."""
    found: dict[int, Recorded] = {}
    for run in _runs(sorted(set(positions))):
        wanted = pa.array(run, pa.int64())
        for batch in coalesce(log.read(run[0], run[-1] + 1, _tell)):
            chosen = batch.filter(pc.is_in(batch["position"], value_set=wanted))
            found.update({recorded.position: recorded for recorded in from_batch(chosen)})
    return found


def _tell(damage: Damage) -> None:
    _log.warning("positions %d to %d can't be read: %s", damage.start, damage.end - 1, damage.problem)


def _runs(positions: list[int]) -> Iterator[list[int]]:
    start = 0
    for index in range(1, len(positions) + 1):
        if index == len(positions) or positions[index] - positions[index - 1] > _FAR:
            yield positions[start:index]
            start = index
