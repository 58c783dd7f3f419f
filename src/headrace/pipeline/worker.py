"""What runs in Spark's Python workers: map the log, match whole batches, emit pairs.

Workers outlive a micro-batch, and so do the mapped log, the matcher and the compiled filters below.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from headrace.eventlog.local.reader import SegmentReader
from headrace.events.batch import coalesce
from headrace.heap import spare_heap
from headrace.pipeline.roster import RosterReader

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from headrace.matching import Matcher

PLAN = "position long, subscription string, until long"
"""A planned delivery (until is null), or a note that positions [position, until) were matched in full."""

_SCHEMA = pa.schema([("position", pa.int64()), ("subscription", pa.string()), ("until", pa.int64())])


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
    reader, matcher = _log(log), _matcher(roster)
    for events in coalesce(reader.read(start, end)):
        pairs = matcher.match_pairs(events)
        matcher.publish()
        if pairs.num_rows:
            ids = pairs["subscription"].dictionary_decode()
            nothing = pa.nulls(pairs.num_rows, pa.int64())
            yield pa.RecordBatch.from_arrays([pairs["position"], ids, nothing], schema=_SCHEMA)
    yield pa.RecordBatch.from_pydict(
        {"position": [start], "subscription": [None], "until": [end]}, schema=_SCHEMA
    )
