"""What was measured: as a document, as tables, and how it grows with the number of rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from headrace_bench.figures import show

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GROWING = {
    "events/s": ("events_per_second", "median"),
    "match p50": ("match_us", "p50"),
    "match p99": ("match_us", "p99"),
    "build": ("build_seconds",),
    "memory": ("bytes",),
    "add p50": ("add_us", "p50"),
    "remove p50": ("remove_us", "p50"),
    "matches": ("matches_per_event",),
}
"""The figures of which a report says how they grow, and where they stand in a row."""


@dataclass(slots=True)
class Report:
    """Rows of Headrace alone, rows of the same run with its peers, and who was left out and why."""

    machine: dict[str, Any]
    plan: dict[str, Any]
    rows: list[dict[str, Any]] = field(default_factory=list)
    peers: list[dict[str, Any]] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    disagreements: list[str] = field(default_factory=list)

    def compare(
        self, workload: str, rules: int, peer: str, ours: Sequence[int], theirs: Sequence[int]
    ) -> None:
        """Note where the two found a different number of matches, on the events that both got to."""
        pairs = list(zip(ours, theirs, strict=False))
        apart = [number for number, (mine, other) in enumerate(pairs) if mine != other]
        if apart:
            mine, other = pairs[apart[0]]
            totals = f"{sum(mine for mine, _ in pairs):,} and {sum(other for _, other in pairs):,} matches"
            self.disagreements.append(
                f"{workload} with {rules:,} rules: headrace and {peer} found {totals} on {len(pairs):,} events; "
                f"the first that differs is number {apart[0]}: {mine} and {other}"
            )

    def document(self) -> dict[str, Any]:
        """Return everything, for programs."""
        return {
            "machine": self.machine,
            "plan": self.plan,
            "rows": self.rows,
            "growth": list(growth(self.rows)),
            "peers": self.peers,
            "left_out": self.left_out,
            "disagreements": self.disagreements,
        }


def growth(rows: Sequence[Mapping[str, Any]]) -> Iterator[dict[str, Any]]:
    """Say for each workload by which factor each figure changes from the fewest rules to the most."""
    for workload, group in groupby(rows, itemgetter("workload")):
        ordered = sorted(group, key=itemgetter("rules"))
        if len(ordered) > 1:
            first, last = ordered[0], ordered[-1]
            factors = {name: _factor(first, last, place) for name, place in GROWING.items()}
            yield {"workload": workload, "from": first["rules"], "to": last["rules"], **factors}


def print_report(report: Report) -> None:
    """Print the tables."""
    show("Matching: Headrace, one core", [_shown(row) for row in report.rows])
    show("A subscription added, first seen, and removed", [_changes_shown(row) for row in report.rows])
    grown = list(growth(report.rows))
    if grown:
        show("From the fewest rules to the most: times", [_grown(row) for row in grown])
    if report.peers:
        show("The same rules and events, one core each", [_peer_shown(row) for row in report.peers])


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "workload": row["workload"],
        "rules": f"{row['rules']:,}",
        "events/s": _spread(row["events_per_second"]),
        "wall": _number(row["wall_events_per_second"]["median"]),
        "matches": _number(row["matches_per_event"]),
        "candidates": _number(row["candidates_per_event"]),
        "match µs": _quantiles(row["match_us"], "p50", "p99", "p99.9"),
        "build s": f"{row['build_seconds']:.2f}",
        "B/rule": _number(row["bytes_per_subscription"]),
    }


def _changes_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "workload": row["workload"],
        "rules": f"{row['rules']:,}",
        "add µs": _quantiles(row["add_us"], "p50", "p99"),
        "seen µs": _quantiles(row["add_seen_us"], "p50", "p99"),
        "remove µs": _quantiles(row["remove_us"], "p50", "p99"),
    }


def _peer_shown(row: Mapping[str, Any]) -> dict[str, Any]:
    memory = row["memory_bytes"]
    return {
        "workload": row["workload"],
        "rules": f"{row['rules']:,}",
        "engine": row["engine"],
        "events/s": _spread(row["events_per_second"]),
        "wall": _number(row["wall_events_per_second"]["median"]),
        "on events": f"{row['events']:,}",
        "matches": _number(row["matches_per_event"]),
        "build s": f"{row['build_seconds']:.2f}",
        "MB": _number(None if memory is None else memory / 1e6),
        "note": row["note"],
    }


def _grown(row: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value if name == "workload" else _number(value) for name, value in row.items()}


def _factor(first: Mapping[str, Any], last: Mapping[str, Any], place: Sequence[str]) -> float | None:
    before, after = _at(first, place), _at(last, place)
    return after / before if before and after is not None else None


def _at(row: Any, place: Sequence[str]) -> float | None:
    for key in place:
        row = None if row is None else row[key]
    return row  # type: ignore[no-any-return]


def _spread(rates: Mapping[str, float]) -> str:
    return "/".join(_number(rates[name]) for name in ("min", "median", "max"))


def _quantiles(found: Mapping[str, float] | None, *names: str) -> str:
    return "-" if found is None else "/".join(_number(found[name]) for name in names)


def _number(value: float | None) -> str:
    """Three digits that count, and never more than the figure is worth."""
    if value is None:
        return "-"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"
