"""What is measured of Headrace's matcher, in a process that does nothing else."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING, Any, Literal

import msgspec

from headrace.errors import HeadraceError
from headrace.events.batch import from_batch
from headrace.heap import spare_heap
from headrace.matching import Matcher
from headrace_bench.match.arrivals import batches
from headrace_bench.match.memory import resident
from headrace_bench.match.peers.table import PEERS
from headrace_bench.match.rules import filter_of
from headrace_bench.match.statistics import candidates_per_event
from headrace_bench.match.timing import passes, quantiles, spread
from headrace_bench.match.workloads.table import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    import pyarrow as pa

    from headrace.events.recorded import Recorded
    from headrace.filters import Filter
    from headrace_bench.match.rules import AnyRule

    Say = Callable[[str], None]

_MOST_SAMPLES, _MOST_CHANGES, _WARM_UP = 20_000, 500, 100


class Task(msgspec.Struct, frozen=True):
    """What one process measures. `sayable_by` leaves out the rules that this peer has no words for."""

    kind: Literal["speed", "rates", "memory"]
    workload: str
    rules: int
    events: int
    seed: int
    seconds: float
    batch: int
    sayable_by: str | None = None


def measure(task: Task, say: Say) -> dict[str, Any]:
    """Do the task."""
    return {"speed": _speed, "rates": _rates, "memory": _memory}[task.kind](task, say)


def _rates(task: Task, say: Say) -> dict[str, Any]:
    filters = _filters(task, say)
    return _built_and_run(task, filters, Matcher(), say)


def _speed(task: Task, say: Say) -> dict[str, Any]:
    filters, matcher = _filters(task, say), Matcher()
    figures = _built_and_run(task, filters, matcher, say)
    recorded = [each for batch in _batches(task) for each in from_batch(batch)]
    say("one event at a time")
    figures["match_us"] = quantiles(_single(matcher, recorded, task.seconds))
    say("removing and adding")
    return figures | _changes(matcher, dict(filters), recorded, task.seconds)


def _built_and_run(
    task: Task, filters: list[tuple[str, Filter]], matcher: Matcher, say: Say
) -> dict[str, Any]:
    stage = list(_batches(task))
    _warm_up(task, stage[0])
    say("building")
    began, cpu = time.perf_counter(), time.process_time()
    matcher.add_many(filters)
    matcher.settle_down()
    build = time.process_time() - cpu, time.perf_counter() - began
    spare_heap()
    say("matching")
    done = passes(stage, lambda batch: _counts(matcher, batch), matcher.match_pairs, task.seconds)
    return {
        "rules": len(filters),
        "events": len(done.counts),
        "build_seconds": build[0],
        "build_wall_seconds": build[1],
        "events_per_second": spread(done.rates),
        "wall_events_per_second": spread(done.wall_rates),
        "matches_per_event": sum(done.counts) / len(done.counts),
        "candidates_per_event": candidates_per_event(matcher),
        "counts": done.counts,
    }


def _memory(task: Task, say: Say) -> dict[str, Any]:
    """Measure by resident memory, which counts what native code holds too, and filters with the index."""
    batch = next(_batches(task)).slice(0, 1)
    _warm_up(task, batch)
    say("building, for memory")
    matcher, before = Matcher(), resident()
    matcher.add_many((_name(number), filter_of(rule)) for number, rule in enumerate(_rules(task)))
    matcher.settle_down()
    matcher.match_pairs(batch)
    grown = max(0, resident() - before)
    return {"bytes": grown, "bytes_per_subscription": grown / len(matcher)}


def _rules(task: Task) -> Iterator[AnyRule]:
    rules = WORKLOADS[task.workload].rules(task.rules, task.seed)
    write = PEERS[task.sayable_by].write if task.sayable_by else None
    return (rule for rule in rules if write is None or write(rule) is not None)


def _filters(task: Task, say: Say) -> list[tuple[str, Filter]]:
    say("compiling filters")
    return [(_name(number), filter_of(rule)) for number, rule in enumerate(_rules(task))]


def _name(number: int) -> str:
    return f"subscription-{number:07}"


def _batches(task: Task) -> Iterator[pa.RecordBatch]:
    return batches(WORKLOADS[task.workload].events(task.events, task.seed), task.batch)


def _warm_up(task: Task, batch: pa.RecordBatch) -> None:
    """Load and compile what the first use loads, with some of the rules in a matcher that is thrown away."""
    matcher = Matcher()
    rules = WORKLOADS[task.workload].rules(min(task.rules, _WARM_UP), task.seed)
    matcher.add_many((_name(number), filter_of(rule)) for number, rule in enumerate(rules))
    matcher.settle_down()
    matcher.match_pairs(batch.slice(0, 8))
    matcher.match(from_batch(batch.slice(0, 1))[0])


def _counts(matcher: Matcher, batch: pa.RecordBatch) -> list[int]:
    found = Counter(matcher.match_pairs(batch)["position"].to_pylist())
    return [found[position] for position in batch["position"].to_pylist()]


def _single(matcher: Matcher, recorded: Sequence[Recorded], seconds: float) -> list[int]:
    took: list[int] = []
    ends = time.perf_counter() + seconds
    for number in range(_MOST_SAMPLES):
        event = recorded[number % len(recorded)]
        began = time.perf_counter_ns()
        matcher.match(event)
        took.append(time.perf_counter_ns() - began)
        if time.perf_counter() > ends:
            break
    return took


def _changes(
    matcher: Matcher, filters: dict[str, Filter], recorded: Sequence[Recorded], seconds: float
) -> dict[str, Any]:
    """Take out a subscription that an event matches and put it back; the event must notice both at once."""
    removed: list[int] = []
    added: list[int] = []
    seen: list[int] = []
    ends = time.perf_counter() + seconds
    for event in recorded:
        wanted = matcher.match(event)
        if wanted:
            name = wanted[len(removed) % len(wanted)]
            removed.append(_nanoseconds(lambda name=name: matcher.remove(name)))  # type: ignore[misc]
            _require(name not in matcher.match(event), "a subscription that was removed still matches")
            added.append(_nanoseconds(lambda name=name: matcher.add(name, filters[name])))  # type: ignore[misc]
            began = time.perf_counter_ns()
            found = matcher.match(event)
            seen.append(added[-1] + time.perf_counter_ns() - began)
            _require(name in found, "a subscription that was added doesn't match")
        if len(removed) >= _MOST_CHANGES or time.perf_counter() > ends:
            break
    parts = {"remove_us": removed, "add_us": added, "add_seen_us": seen}
    return {name: quantiles(took) if took else None for name, took in parts.items()}


def _nanoseconds(work: Callable[[], None]) -> int:
    began = time.perf_counter_ns()
    work()
    return time.perf_counter_ns() - began


def _require(holds: bool, otherwise: str) -> None:
    if not holds:
        raise HeadraceError(otherwise)
