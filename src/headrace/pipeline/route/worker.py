"""What runs in Spark's Python workers: read the log, match whole batches, emit pairs.

Workers outlive a micro-batch, and so do the opened log, the matcher and the compiled filters below.
"""

from __future__ import annotations

import time
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.eventlog.location import cached_log
from headrace.eventlog.log import read_remaining
from headrace.events.batch import coalesce
from headrace.heap import spare_heap, spare_pandas
from headrace.matching.warm_up import warm_up
from headrace.pipeline.roster.reader import RosterReader
from headrace.pipeline.route.plan import aside_rows, delivery_rows, note_rows, overrun_rows
from headrace.subscriptions.store.set_aside import Kind, SetAside
from headrace.telemetry.metrics import ROUTE_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pyarrow as pa

    from headrace.eventlog.damage import Damage
    from headrace.matching import Matcher


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


def match_ranges(log: str, roster: str, ranges: Sequence[tuple[int, int]]) -> Iterator[pa.RecordBatch]:
    """Match positions [start, end) of a log against a roster; yields rows of a plan, the notes last.

    Each range is of one partition. Small ones are matched together: a call of the matcher has a price of its own.
    """
    spare_pandas()
    warm_up()
    reader, matcher = cached_log(log), _matcher(roster)
    asides = _rosters().take_refused()
    damaged: list[Damage] = []
    read = (batch for span in ranges for batch in read_remaining(reader, *span, damaged.append))
    for events in _timed(coalesce(read)):
        for pairs in _pairs(matcher, events, asides):
            kept = _rosters().bounds.keep(pairs["position"], pairs["subscription"].dictionary_decode())
            if len(kept[0]):
                yield delivery_rows(*kept)
        matcher.publish()
        overruns = matcher.take_overruns()
        if overruns:
            yield overrun_rows(overruns)
    asides += [SetAside(Kind.DAMAGE, each.start, each.end, each.reason()) for each in damaged]
    if asides:
        yield aside_rows(asides)
    yield note_rows(ranges)


def _timed(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Pass batches on, and note how long they took to come."""
    spent = 0.0
    while True:
        began = time.perf_counter()
        batch = next(batches, None)
        spent += time.perf_counter() - began
        if batch is None:
            break
        yield batch
    ROUTE_SECONDS.labels("read").observe(spent)


def _pairs(matcher: Matcher, events: pa.RecordBatch, asides: list[SetAside]) -> Iterator[pa.RecordBatch]:
    """Match the events; where that fails, halve them until it is known which event is at fault, and set it aside."""
    try:
        yield matcher.match_pairs(events)
    except MemoryError:
        raise  # no event's fault
    except Exception as error:  # noqa: BLE001  whatever an event does to the matcher, the others go on
        half = events.num_rows // 2
        if half:
            yield from _pairs(matcher, events.slice(0, half), asides)
            yield from _pairs(matcher, events.slice(half), asides)
        else:
            asides.append(_unmatched(events, error))


def _unmatched(event: pa.RecordBatch, error: Exception) -> SetAside:
    position, namespace, channel = (event[name][0].as_py() for name in ("position", "namespace", "channel"))
    reason = f"matching it failed: {error!r}"
    return SetAside(Kind.EVENT, position, position + 1, reason, namespace, channel)
