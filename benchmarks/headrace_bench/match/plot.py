"""Pictures of a report: rates, latencies and memory against the number of rules."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from headrace.cli.history.plots import pyplot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from headrace_bench.match.report import Report

Lines: TypeAlias = "dict[str, list[tuple[float, float]]]"
"""Points of rules and a figure, by what the line is called."""


def draw(report: Report, file: Path) -> None:
    """Write the picture; the name says in which format."""
    figure, axes = pyplot().subplots(1, len(PANELS), figsize=(6 * len(PANELS), 5), layout="constrained")
    for axis, (title, lines) in zip(axes, panels(report).items(), strict=True):
        for name, points in lines.items():
            axis.plot(*zip(*points, strict=True), marker="o", label=name)
        axis.set(title=title, xlabel="rules", xscale="log", yscale="log")
        axis.grid(visible=True, which="major", alpha=0.3)
        if lines:
            axis.legend(fontsize="small")
    figure.savefig(file)


PANELS = ("events per second of one core", "one event, p99, µs", "bytes per rule")


def panels(report: Report) -> dict[str, Lines]:
    """Return the lines of each panel."""
    drawn: dict[str, Lines] = {title: {} for title in PANELS}
    for row in report.rows:
        values = (row["events_per_second"]["median"], row["match_us"]["p99"], row["bytes_per_subscription"])
        for title, value in zip(PANELS, values, strict=True):
            _add(drawn[title], row["workload"], row, value)
    for row in report.peers:
        name = row["engine"] if row["engine"] != "headrace" else f"headrace {row['note']}"
        if row["engine"] != "headrace" or row["note"]:
            _add(drawn[PANELS[0]], f"{row['workload']}: {name}", row, row["events_per_second"]["median"])
    return drawn


def _add(lines: Lines, name: str, row: Mapping[str, Any], value: float) -> None:
    if value > 0:  # a logarithm shows nothing else
        lines.setdefault(name, []).append((row["rules"], value))
