"""Backtest: what a filter would have matched, in numbers that a chart can be drawn from, and some examples."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import msgspec
from pyspark.sql import functions as F  # noqa: N812 -- its usual name

from headrace.events.batch import from_batch
from headrace.events.bindings.http import encode_structured
from headrace.filters import compile_filter
from headrace.jobs.requests import parse_backtest
from headrace.matching.scope import Scope
from headrace.pipeline.history.backtest import Backtest, Bucket, backtest
from headrace.pipeline.history.seek import first_match
from headrace.pipeline.history.selection import HistorySelection
from headrace.pipeline.jobs.times import written_time

if TYPE_CHECKING:
    from headrace.events.recorded import Recorded
    from headrace.jobs.requests import BacktestRequest
    from headrace.pipeline.history.history import History
    from headrace.pipeline.jobs.run import JobRun

_WIDTHS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200)
_DAY = 86400
_MOST_SHOWN = 65_536


def run_backtest(work: JobRun) -> None:
    """Ask the filter of the events in the range."""
    request = parse_backtest(work.job.request)
    history = work.tools.history()
    published = _range(request, history)
    found = backtest(
        history,
        HistorySelection(Scope(*request.channel), published=published),
        compile_filter(list(request.filters)),
        bucket_seconds=bucket_seconds(published, request.buckets),
        examples=request.examples,
        progress=lambda part: work.tell(part, "asking the filter"),
    )
    work.claim.finish(_document(found, published))


def _range(request: BacktestRequest, history: History) -> tuple[int, int]:
    """Return the range of publish times in microseconds: what was not given is the first event and now."""
    end = int(time.time() * 1e6) + 1 if request.to is None else request.to * 1000
    if request.from_ is not None:
        return request.from_ * 1000, end
    everything = HistorySelection(Scope(*request.channel))
    firsts = first_match(history, everything, compile_filter(None))
    times = [
        history.events(HistorySelection(positions=(each, each + 1)))
        .select(F.unix_micros("publish_time"))
        .collect()[0][0]
        for each in firsts
    ]
    return min([*times, end - 1]), end


def bucket_seconds(published: tuple[int, int], most: int) -> int:
    """Return a width that a person reads easily, with which at most so many buckets cover the range."""
    least = (published[1] - published[0]) / 1e6 / max(most - 1, 1)  # the first and the last may be cut
    days = _DAY * -int(-least // _DAY)
    return next((width for width in _WIDTHS if width >= least), days)


def every_bucket(found: Backtest, published: tuple[int, int]) -> list[Bucket]:
    """Return the buckets of the whole range, also those without events: a chart of the others would hide pauses."""
    width = int(found.bucket_seconds * 1_000_000)
    known = {bucket.start: bucket for bucket in found.buckets}
    starts = range(published[0] // width * width, published[1], width)
    return [known.get(start, Bucket(start, 0, 0)) for start in starts]


def _document(found: Backtest, published: tuple[int, int]) -> dict[str, Any]:
    examples = [each for batch in found.examples.to_batches() for each in from_batch(batch)]
    return {
        "events": found.events,
        "matched": found.matched,
        "from": written_time(published[0]),
        "to": written_time(published[1]),
        "bucketSeconds": found.bucket_seconds,
        "buckets": [
            {"time": written_time(each.start), "events": each.events, "matched": each.matched}
            for each in every_bucket(found, published)
        ],
        "examples": [_example(each) for each in examples],
    }


def _example(recorded: Recorded) -> dict[str, Any]:
    """Show an event; the data of a very large one is left out."""
    event = msgspec.json.decode(body := encode_structured(recorded.event).body)
    if len(body) > _MOST_SHOWN:
        event = {name: value for name, value in event.items() if name not in ("data", "data_base64")}
    return {
        "position": recorded.position,
        "publishTime": written_time(recorded.publish_time),
        "event": event,
        **({"dataOmitted": True} if len(body) > _MOST_SHOWN else {}),
    }
