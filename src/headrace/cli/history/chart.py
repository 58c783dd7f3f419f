"""A backtest as a picture: bars in the terminal, or a file."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from headrace.cli.history.plots import pyplot

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

_BARS = " ▁▂▃▄▅▆▇█"


def print_chart(result: Mapping[str, Any]) -> None:
    """Print how many events matched over time, as one line of bars."""
    counts = [bucket["matched"] for bucket in result["buckets"]]
    seconds = result["bucketSeconds"]
    console = Console()
    console.print(Text(bars(counts)), soft_wrap=True)
    first, last = result["buckets"][0]["time"], result["buckets"][-1]["time"]
    legend = f"{first} … {last}; a bar is {seconds:g} s, the highest {max(counts)} events"
    console.print(Text(legend, style="dim"), soft_wrap=True)


def bars(counts: list[int]) -> str:
    """Draw one character per count; what is above nothing is always seen."""
    highest = max(counts, default=0) or 1
    return "".join(_BARS[-(-count * (len(_BARS) - 1) // highest)] for count in counts)


def draw(result: Mapping[str, Any], file: Path) -> None:
    """Write the picture; the name says in which format."""
    figure, axis = pyplot().subplots(figsize=(10, 4), layout="constrained")
    times = [datetime.fromisoformat(bucket["time"]) for bucket in result["buckets"]]
    seconds = result["bucketSeconds"]
    for name, colour in (("events", "lightgrey"), ("matched", "tab:blue")):
        rates = [bucket[name] / seconds for bucket in result["buckets"]]
        axis.bar(times, rates, width=seconds / 86400, align="edge", color=colour, label=name)
    axis.set(ylabel="events per second", title=f"{result['matched']} of {result['events']} events match")
    axis.legend()
    figure.autofmt_xdate()
    figure.savefig(file)
