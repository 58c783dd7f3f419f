"""What runs in Spark's Python workers: map the log, match whole batches, emit pairs.

Workers outlive a micro-batch, and so do the mapped log, the matcher and the compiled filters below.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from headrace.eventlog.local.reader import SegmentReader
from headrace.events.batch import coalesce
from headrace.heap import spare_heap
from headrace.matching.warming import warm_up
from headrace.pipeline.roster import RosterReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.matching import Matcher
    from headrace.matching.overruns import Overrun

PLAN = "position long, subscription string, until long, overrun struct<reason: string, times: long>"
"""One of three: a note that positions [position, until) were matched in full (it alone has `until`); the overruns of
a subscription's filter, the last one at `position` (they alone have `overrun`); or else a planned delivery."""

_OVERRUN = pa.struct([("reason", pa.string()), ("times", pa.int64())])
_SCHEMA = pa.schema(
    [("position", pa.int64()), ("subscription", pa.string()), ("until", pa.int64()), ("overrun", _OVERRUN)]
)


@lru_cache(maxsize=1)
def _log(folder: str) -> SegmentReader:
    return SegmentReader(Path(folder))


@lru_cache(maxsize=1)
def _rosters() -> RosterReader:
    return RosterReader()


def _matcher(roster: str) -> Matcher:
    rosters, path = _rosters(), Path(roster)
    is_new = path != rosters.path
    matcher = rosters.matcher(path)
    if is_new:
        spare_heap()
    return matcher


def match_pointers(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Match the ranges that the pointers name."""
    for pointers in batches:
        for pointer in pointers.to_pylist():
            yield from _match(pointer["log"], pointer["roster"], pointer["start"], pointer["end"])


def _match(log: str, roster: str, start: int, end: int) -> Iterator[pa.RecordBatch]:
    warm_up()
    reader, matcher = _log(log), _matcher(roster)
    for events in coalesce(reader.read(start, end)):
        found = matcher.match_pairs(events)
        matcher.publish()
        pairs = _rosters().bounds.keep(found["position"], found["subscription"].dictionary_decode())
        if count := len(pairs[0]):
            nothing = [pa.nulls(count, pa.int64()), pa.nulls(count, _OVERRUN)]
            yield pa.RecordBatch.from_arrays([*pairs, *nothing], schema=_SCHEMA)
        overruns = matcher.take_overruns()
        if overruns:
            yield pa.RecordBatch.from_pylist([_row(each) for each in overruns], schema=_SCHEMA)
    yield pa.RecordBatch.from_pylist([{"position": start, "until": end}], schema=_SCHEMA)


def _row(overrun: Overrun) -> dict[str, Any]:
    told = {"reason": overrun.reason, "times": overrun.times}
    return {"position": overrun.position, "subscription": overrun.subscription, "overrun": told}
