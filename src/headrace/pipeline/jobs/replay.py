"""Replays and catch-ups: the events of a range that a subscription wants, handed to the dispatcher chunk by chunk.

The search keeps only a little ahead of the delivery, so that neither a slow sink nor a low rate fills the database;
meanwhile it lets go of the job, and takes it up again where it stopped.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from headrace.events.positions import LogPosition, partition_of
from headrace.filters import compile_filter
from headrace.jobs.replays import Replay
from headrace.jobs.requests import REPLAY, parse_replay
from headrace.matching.scope import Scope
from headrace.pipeline.history.matches import matching_events
from headrace.pipeline.history.selection import HistorySelection
from headrace.pipeline.jobs.points import locate

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pyarrow as pa

    from headrace.filters import Filter
    from headrace.jobs.requests import ReplayRequest
    from headrace.pipeline.history.history import History
    from headrace.pipeline.jobs.run import JobRun
    from headrace.subscriptions.subscription import Subscription

_CHUNK_BYTES = 4 << 20
_CHUNKS_AHEAD = 8
_PAUSE_SECONDS = 0.5
_NOTHING = {"found": 0, "delivered": 0, "dead": 0}


@dataclass(frozen=True, slots=True)
class _Way:
    """What is still to be searched, of how many positions in all: what the job remembers."""

    start: LogPosition
    end: LogPosition
    total: int

    @property
    def part_done(self) -> float:
        return 1 - self.start.count_to(self.end) / (self.total or 1)

    def moved(self, position: int) -> _Way:
        return replace(self, start=LogPosition({**self.start, partition_of(position): position}))

    def memory(self) -> dict[str, Any]:
        return {"start": dict(self.start), "end": dict(self.end), "total": self.total}


def run_replay(work: JobRun) -> None:
    """Hand over what is to be delivered; the dispatcher ends the job when it has delivered it."""
    request = parse_replay(work.job.request)
    subscription = work.tools.store.get(work.subscription_id)
    history = work.tools.history()
    way = _remembered(work) or _begin(work, request, subscription, history)
    if way is None:
        work.claim.finish(_NOTHING)
        return
    extra = [request.filter] if isinstance(request.filter, dict) else request.filter or []
    filter_ = compile_filter([*subscription.filters, *extra])
    scope = Scope(*subscription.channel, subscription.source, subscription.types)
    if _hand_over(work, way, history, scope, filter_):
        work.tools.replays.complete(work.claim)
    else:
        work.claim.release(_PAUSE_SECONDS)


def _remembered(work: JobRun) -> _Way | None:
    memory = work.job.memory
    if not memory:
        return None
    start, end = (
        LogPosition({int(partition): each for partition, each in memory[name].items()})
        for name in ("start", "end")
    )
    return _Way(start, end, memory["total"])


def _begin(work: JobRun, request: ReplayRequest, subscription: Subscription, history: History) -> _Way | None:
    """Open the replay; None where there is nothing between its points."""
    start = locate(
        history, subscription.channel, request.from_, lambda part: work.tell(0.0, f"searching {part:.0%}")
    )
    end = _end(work, request, subscription, history)
    if start is None or not any(start.ranges_to(end)):
        return None
    way = _Way(start, end, start.count_to(end))
    marked = work.job.kind == REPLAY
    replay = Replay(work.job.id, subscription.id, request.rate, marked)
    work.tools.replays.begin(work.claim, replay, way.memory())
    return way


def _end(work: JobRun, request: ReplayRequest, subscription: Subscription, history: History) -> LogPosition:
    if work.job.kind != REPLAY:
        return _went_live(work, subscription)
    found = None if request.to is None else locate(history, subscription.channel, request.to)
    return history.end if found is None else found


def _went_live(work: JobRun, subscription: Subscription) -> LogPosition:
    if subscription.created is None:  # whoever made it was stopped in between
        work.tools.store.settle(work.tools.end_of_log)
        subscription = work.tools.store.get(subscription.id)
    assert subscription.created is not None  # noqa: S101  it is settled now
    return subscription.created


def _hand_over(work: JobRun, way: _Way, history: History, scope: Scope, filter_: Filter) -> bool:
    """Append chunks until all is done, or until enough waits; return whether all is done."""
    for first, behind in list(way.start.ranges_to(way.end)):
        for position, events in matching_events(history, HistorySelection(scope, (first, behind)), filter_):
            for piece in _pieces(events):
                way = way.moved(piece["position"][-1].as_py() + 1)
                work.tools.replays.append(work.claim, piece, way.memory())
            way = way.moved(min(position, behind))
            work.claim.remember(way.memory())
            work.tell(way.part_done)
            if work.tools.replays.waiting_chunks(work.job.id) >= _CHUNKS_AHEAD:
                return False
        way = way.moved(behind)
    work.tell(1.0)
    return True


def _pieces(events: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Cut events into chunks of bounded size."""
    rows = max(1, events.num_rows * _CHUNK_BYTES // max(events.nbytes, 1))
    return (events.slice(start, rows) for start in range(0, events.num_rows, rows))
