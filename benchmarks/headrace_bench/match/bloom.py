"""What the Bloom filter costs and what it saves: the same walks with it and without it.

The events are city lots, once as they are, so that rules ask for most of their values, and once with values that no
rule asks for. What is timed is the walk through the index alone: reading the events is the same either way.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from headrace.events.event import Event
from headrace.matching.bloom.watch import BloomState
from headrace.matching.extraction.extractor import Extract
from headrace.matching.extraction.fields import Fields
from headrace.matching.index.bloom import OFF
from headrace.matching.levels import level_of
from headrace.matching.rules.catalogue import Catalogue
from headrace.matching.settings import BloomSettings
from headrace_bench.figures import show
from headrace_bench.match.arrivals import batches
from headrace_bench.match.rules import filter_of
from headrace_bench.match.workloads.table import WORKLOADS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from headrace.matching.index.level import Level

    Counts = Mapping[str, int]
    Say = Callable[[str], None]

SIZES = (100_000, 1_000_000)
_WORKLOAD = "citylots"
_COUNTED = ("asked", "passed", "found")


@dataclass(frozen=True, slots=True)
class BloomPlan:
    """What to measure, for each number of rules."""

    rules: tuple[int, ...] = SIZES
    events: int = 10_000
    seconds: float = 5.0
    batch: int = 2_048
    seed: int = 11


def measure_bloom(plan: BloomPlan, say: Say) -> list[dict[str, Any]]:
    """Return one row for each number of rules and kind of event."""
    return [row for rules in plan.rules or SIZES for row in _rows(rules, plan, say)]


def print_bloom(rows: Iterable[Mapping[str, Any]]) -> None:
    """Print a table."""
    show("The walk with the Bloom filter and without it, one core", [_shown(row) for row in rows])


def unwanted(event: Event) -> Event:
    """Return the event with other values at all fields that rules ask about."""
    record = msgspec.json.decode(event.data or b"{}")
    record["properties"] = {
        name: f"~{value[::-1]}~" if isinstance(value, str) else -1 - value
        for name, value in record["properties"].items()
    }
    return Event(event.attributes, msgspec.json.encode(record))


def _rows(rules: int, plan: BloomPlan, say: Say) -> Iterable[dict[str, Any]]:
    say(f"{rules:,} rules: compiling filters")
    catalogue = Catalogue()
    for rule in WORKLOADS[_WORKLOAD].rules(rules, plan.seed):
        catalogue.add(filter_of(rule), None)
    catalogue.flush()
    settings = BloomSettings()
    levels: list[Level] = []
    for each in (settings, replace(settings, fp_rate=OFF)):
        say(f"{rules:,} rules: building")
        levels.append(level_of(catalogue, np.arange(rules), plan.seed, each))
    asked_for = WORKLOADS[_WORKLOAD].events(plan.events, plan.seed)
    for kind, events in (("asked for", asked_for), ("not asked for", list(map(unwanted, asked_for)))):
        say(f"{rules:,} rules: walking, values {kind}")
        extracts = _extracts(events, levels[0], plan.batch)
        with_filter, without = _walks(levels, extracts, plan.seconds)
        yield _row(rules, kind, levels[0], with_filter, without)


def _extracts(events: Sequence[Event], level: Level, batch: int) -> list[Extract]:
    fields = Fields.of(level.operands_of(0), frozenset())
    return [Extract.of_batch(each, fields) for each in batches(events, batch)]


@dataclass(slots=True)
class _Walk:
    """The fastest of several passes, and what a pass counts."""

    seconds: float
    counts: Counts


def _walks(levels: Sequence[Level], extracts: Sequence[Extract], seconds: float) -> list[_Walk]:
    """Walk levels in turns, so that whatever else the machine does disturbs them alike."""
    walks = [_pass(level, extracts) for level in levels]
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        for place, level in enumerate(levels):
            walks[place] = min(walks[place], _pass(level, extracts), key=lambda walk: walk.seconds)
    return walks


def _pass(level: Level, extracts: Sequence[Extract]) -> _Walk:
    columns = np.arange(len(level.operands_of(0)))
    began = time.perf_counter()
    counts = [level.walk(extract, 0, columns).counts for extract in extracts]
    seconds = time.perf_counter() - began
    return _Walk(seconds, {name: sum(int(each[name]) for each in counts) for name in _COUNTED})


def _row(rules: int, kind: str, level: Level, with_filter: _Walk, without: _Walk) -> dict[str, Any]:
    asked, passed, found = (with_filter.counts[name] for name in _COUNTED)
    return {
        "rules": rules,
        "values": kind,
        "lookups": asked,
        "passed": passed / asked,
        "found": found / asked,
        "fp_rate": BloomState(1, 0.0, asked, passed, found).fp_rate,
        "ns_per_lookup": with_filter.seconds / asked * 1e9,
        "ns_per_lookup_without": without.seconds / asked * 1e9,
        "ratio": with_filter.seconds / without.seconds,
        "bytes": level.tables.bloom.nbytes,
        "bytes_of_table": level.tables.cells.nbytes + level.tables.keys.nbytes,
    }


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rules": f"{row['rules']:,}",
        "values": row["values"],
        "look-ups found": f"{row['found']:.1%}",
        "passed": f"{row['passed']:.1%}",
        "false": "-" if row["fp_rate"] is None else f"{row['fp_rate']:.2%}",
        "ns/look-up": f"{row['ns_per_lookup']:.1f}",
        "without": f"{row['ns_per_lookup_without']:.1f}",
        "ratio": f"{row['ratio']:.2f}",
        "MB": f"{row['bytes'] / 1e6:.2f}",
        "table MB": f"{row['bytes_of_table'] / 1e6:.0f}",
    }
