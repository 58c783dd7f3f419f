"""Quantiles, CPU time and counters: what the benchmarks report."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.table import Table

from headrace.service.processes.process_table import session_processes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK")


def quantiles(latencies: Sequence[float]) -> dict[str, float]:
    """Return p50, p90, p99 and the maximum, in milliseconds."""
    ordered = sorted(latencies)
    if not ordered:
        return {}
    at = {f"p{part}": ordered[min(len(ordered) * part // 100, len(ordered) - 1)] for part in (50, 90, 99)}
    return {name: round(seconds * 1000, 1) for name, seconds in (at | {"max": ordered[-1]}).items()}


def cpu_seconds(session: int) -> float:
    """Return the processor time that all living processes of a session have used so far."""
    total = 0
    for process in session_processes(session):
        try:
            fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue  # it has ended
        total += int(fields[11]) + int(fields[12])
    return total / _TICKS_PER_SECOND


def counter(exposition: str, name: str) -> float:
    """Sum a counter over its labels, from Prometheus' text format."""
    return sum(
        float(value)
        for value in re.findall(rf"^{name}_total(?:{{[^}}]*}})? (\S+)$", exposition, re.MULTILINE)
    )


def observed(exposition: str, name: str, **labels: str) -> float:
    """Return the sum of all that a histogram observed, under these labels, from Prometheus' text format."""
    found = re.findall(rf"^{name}_sum({{[^}}]*}})? (\S+)$", exposition, re.MULTILINE)
    wanted = [f'{label}="{value}"' for label, value in labels.items()]
    return sum(float(value) for its_labels, value in found if all(each in its_labels for each in wanted))


def show_one(title: str, figures: Mapping[str, Any]) -> None:
    """Print one measurement of many figures, one line per figure."""
    table = Table(title=title, title_justify="left", show_header=False, box=None)
    for name, value in figures.items():
        table.add_row(name, str(value))
    Console().print(table)


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print measurements as a table, one column per figure."""
    table = Table(title=title, title_justify="left", header_style="bold")
    for heading in rows[0]:
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            *(f"{value:,.1f}" if isinstance(value, float) else str(value) for value in row.values())
        )
    console = Console()
    if not console.is_terminal:
        console.width = 140
    console.print(table)
