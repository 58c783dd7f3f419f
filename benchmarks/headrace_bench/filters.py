"""`headrace bench filters`: how fast filters compile, and how fast each back end evaluates them.

Filters and events are generated from a seed, the same for every back end; Google's evaluator gets the CEL text. What
is counted is pairs of one filter and one event. Events are read before the clock starts, except for Arrow, which
gets the columns of the log. The clock is that of the processor, so that other work on the machine doesn't count.
"""

from __future__ import annotations

import importlib
import importlib.util
import math
import random
import time
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from headrace.errors import HeadraceError
from headrace.events.batch import from_batch, to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import Filter, compile_filter
from headrace.filters.backends import reference
from headrace.filters.dialects.table import DIALECTS
from headrace.filters.variables import variables_of
from headrace_bench import google
from headrace_bench.events import bench_events

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    import pyarrow as pa

    from headrace.filters.variables import Variables

_ROUNDS = 3
_SHORTEST = 1e-6
_EVALUATED = 50
_PUBLISHED = 1_767_225_600_000_000
_ARROW = "headrace.filters.backends.arrow.evaluator"
_REGIONS = ("eu", "us", "asia", "africa")
_TIERS = ("basic", "gold", "vip")


@dataclass(frozen=True, slots=True)
class FiltersPlan:
    """What to measure: how many filters of each dialect to compile, and on how many events to evaluate some."""

    filters: int
    events: int
    seed: int = 11


@dataclass(frozen=True, slots=True)
class _Stage:
    """The same events in the form that each back end takes."""

    variables: Sequence[Variables]
    activations: Sequence[Any]
    batch: pa.RecordBatch


def run(plan: FiltersPlan, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Measure every dialect. Raise if two back ends count different matches: then no figure means anything."""
    stage = _stage(sample_events(plan.events, plan.seed))
    rows = []
    for dialect in DIALECTS:
        say(f"measuring {dialect}")
        chance = random.Random(f"{plan.seed} {dialect}")
        rows.append(_measure(dialect, [sample_filter(dialect, chance) for _ in range(plan.filters)], stage))
    return rows


def sample_events(count: int, seed: int) -> list[Event]:
    """Make events as other benchmarks send them, most of them with extensions and some without a subject."""
    chance = random.Random(seed)
    return [_extended(event, chance) for event in bench_events(count, seed=seed)]


def sample_filter(dialect: str, chance: random.Random) -> dict[str, Any]:
    """Make a filter of a dialect."""
    return {dialect: _BODIES[dialect](chance)}


def _extended(event: Event, chance: random.Random) -> Event:
    attributes = dict(event.attributes)
    if chance.random() < 0.8:
        attributes |= {"region": chance.choice(_REGIONS), "priority": chance.randrange(10)}
    if chance.random() < 0.1:
        del attributes["subject"]
    return Event(attributes, event.data)


def _stage(events: Iterable[Event]) -> _Stage:
    batch = to_batch([Arrival(event, "default", "default") for event in events], 0, _PUBLISHED)
    variables = [variables_of(recorded) for recorded in from_batch(batch)]
    activations = [google.bound(each) for each in variables]
    return _Stage(variables, activations, batch)


def _measure(dialect: str, specs: list[dict[str, Any]], stage: _Stage) -> dict[str, Any]:
    row: dict[str, Any] = {
        "dialect": dialect,
        "compiled/s": _rate(lambda: list(map(compile_filter, specs)), len(specs)),
    }
    filters = [compile_filter(spec) for spec in specs[:_EVALUATED]]
    pairs = len(filters) * len(stage.variables)
    counts: dict[str, list[int]] = {}
    for name, prepare in backends().items():
        counters = [prepare(each, stage) for each in filters]
        counts[name] = [count() for count in counters]
        row[f"{name}/s"] = _rate(partial(_call_all, counters), pairs)
    _require_agreement(filters, counts)
    return row | {"matched %": round(100 * sum(counts["reference"]) / pairs, 1)}


def _rate(work: Callable[[], object], count: int) -> int:
    """Return how often per second of processor time; the best of some rounds."""
    best = math.inf
    for _ in range(_ROUNDS):
        began = time.process_time()
        work()
        best = min(best, time.process_time() - began)
    return round(count / max(best, _SHORTEST))


def _call_all(counters: Iterable[Callable[[], int]]) -> None:
    for count in counters:
        count()


def _require_agreement(filters: Sequence[Filter], counts: Mapping[str, Sequence[int]]) -> None:
    for each, *found in zip(filters, *counts.values(), strict=True):
        if len(set(found)) > 1:
            said = ", ".join(f"{name} {count}" for name, count in zip(counts, found, strict=True))
            raise HeadraceError(f"back ends disagree on how many events match {each.cel}: {said}")


def backends() -> dict[str, Callable[[Filter, _Stage], Callable[[], int]]]:
    """Return what there is to measure: each makes a function that counts the events which a filter matches."""
    found: dict[str, Callable[[Filter, _Stage], Callable[[], int]]] = {"reference": _by_reference}
    if importlib.util.find_spec(_ARROW) is not None:
        found["Arrow"] = partial(_by_arrow, importlib.import_module(_ARROW).evaluate)
    return found | {"Google": _by_google}


def _by_reference(wanted: Filter, stage: _Stage) -> Callable[[], int]:
    evaluate, expression = reference.evaluate, wanted.expression
    return lambda: sum(evaluate(expression, each) is True for each in stage.variables)


def _by_arrow(evaluate: Callable[..., Any], wanted: Filter, stage: _Stage) -> Callable[[], int]:
    return lambda: int(evaluate(wanted.expression, stage.batch).true_count)


def _by_google(wanted: Filter, stage: _Stage) -> Callable[[], int]:
    evaluate = google.compiled(wanted.cel).eval
    return lambda: sum(evaluate(activation=each).value() is True for each in stage.activations)


def _type(chance: random.Random) -> str:
    return f"com.example.order.{chance.randrange(12)}"


def _source(chance: random.Random) -> str:
    return f"/shops/{chance.randrange(100)}"


def _exact(chance: random.Random) -> dict[str, str]:
    return {"type": _type(chance)} | _sometimes(chance, {"region": chance.choice(_REGIONS)})


def _prefix(chance: random.Random) -> dict[str, str]:
    return {"source": f"/shops/{chance.randrange(1, 10)}"} | _sometimes(
        chance, {"subject": f"order-{chance.randrange(1, 10)}"}
    )


def _suffix(chance: random.Random) -> dict[str, str]:
    return {"subject": str(chance.randrange(20))} | _sometimes(chance, {"type": str(chance.randrange(10))})


def _sometimes(chance: random.Random, members: dict[str, str]) -> dict[str, str]:
    return members if chance.random() < 0.5 else {}


def _all(chance: random.Random) -> list[dict[str, Any]]:
    return [{"prefix": _prefix(chance)}, {"not": {"suffix": _suffix(chance)}}, {"any": _any(chance)}]


def _any(chance: random.Random) -> list[dict[str, Any]]:
    return [_simple(chance) for _ in range(chance.randrange(2, 5))]


def _simple(chance: random.Random) -> dict[str, Any]:
    return sample_filter(chance.choice(["exact", "prefix", "suffix"]), chance)


def _attributes(chance: random.Random) -> dict[str, str]:
    return {"type": _type(chance)} | _sometimes(chance, {"region": ""})


def _source_and_type(chance: random.Random) -> dict[str, str]:
    return {"source": _source(chance), "type": _type(chance)}


def _cel(chance: random.Random) -> str:
    number, digit, tier = chance.randrange(5000), chance.randrange(10), chance.choice(_TIERS)
    return chance.choice(
        [
            f"data.amount > {number}",
            f'data.customer.tier == "{tier}" && data.amount <= {number}.5',
            f'ce.type == "{_type(chance)}" || ce.source.match("/shops/{digit}?")',
            f"data.items.exists(item, item.count > {digit})",
            f'!(ce.region in ["{chance.choice(_REGIONS)}", "moon"]) && ce.priority >= {digit}',
            f'ce.subject.matches("^order-{number}[0-9]*$")',
            f"eventTime > {number} && data.order % 10 == {digit}",
        ]
    )


def _sql(chance: random.Random) -> str:
    digit, region = chance.randrange(10), chance.choice(_REGIONS)
    return chance.choice(
        [
            f"type = '{_type(chance)}' AND region IN ('{region}', 'moon')",
            f"subject LIKE 'order-{digit}%'",
            f"NOT EXISTS region OR region != '{region}'",
            f"priority > {digit} AND source = '{_source(chance)}'",
            f"LENGTH(subject) > {digit} AND type LIKE '%.order._'",
        ]
    )


def _message(chance: random.Random) -> dict[str, Any]:
    digit, region = chance.randrange(10), chance.choice(_REGIONS)
    kind = {"property": "type", "op": "equals", "value": _type(chance)}
    return chance.choice(
        [
            {"and": [kind, {"property": "region", "op": "in", "values": [region, "moon"]}]},
            {"or": [kind, {"property": "subject", "op": "like", "value": f"order-{digit}%"}]},
            {"not": {"property": "priority", "op": "less_than", "value": digit}},
            {"and": [{"not": kind}, {"ref": "event_time", "op": "greater_than", "value": digit}]},
        ]
    )


def _streamer(chance: random.Random) -> list[dict[str, Any]]:
    conditions: list[dict[str, Any]] = [
        {"field": "amount", "op": ">", "value": chance.randrange(5000)},
        {"field": "customer.tier", "op": "in", "value": chance.sample(_TIERS, 2)},
        {"field": "type", "op": "!=", "value": _type(chance)},
        {"field": "note", "op": "contains", "value": chance.choice("abcdefgh")},
    ]
    return chance.sample(conditions, chance.randrange(1, 4))


_BODIES: Mapping[str, Callable[[random.Random], Any]] = {
    "exact": _exact,
    "prefix": _prefix,
    "suffix": _suffix,
    "all": _all,
    "any": _any,
    "not": _simple,
    "cel": _cel,
    "expression": _cel,
    "sql": _sql,
    "cesql": _sql,
    "attributes": _attributes,
    "sourceAndType": _source_and_type,
    "message": _message,
    "streamer": _streamer,
}
