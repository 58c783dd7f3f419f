"""What the demo shows: live progress on a terminal, plain lines elsewhere, and the summary table."""

from __future__ import annotations

import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from headrace.demo.ledger import DemoLedger

_LINE_SECONDS = 2.0


class Screen:
    """Where the demo prints."""

    def __init__(self) -> None:
        self.console = Console()
        if not self.console.is_terminal:
            self.console.width = max(self.console.width, 110)

    def say(self, text: str) -> None:
        """Print a line."""
        self.console.print(text, highlight=False)

    @contextmanager
    def waiting(self, text: str) -> Iterator[Callable[[str], None]]:
        """Show that something takes a while; the function it gives changes the text."""
        if not self.console.is_terminal:
            self.say(f"{text} …")
            yield lambda _: None
            return
        with self.console.status(text) as status:
            yield status.update

    @contextmanager
    def progress(self, events: int) -> Iterator[Callable[[DemoLedger], None]]:
        """Show events and deliveries as they come; the function it gives shows the ledger's state."""
        columns = (
            TextColumn("{task.description:<10}"),
            BarColumn(),
            MofNCompleteColumn(),
            TaskProgressColumn(),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.console, disable=not self.console.is_terminal) as bars:
            accepted = bars.add_task("accepted", total=events)
            delivered = bars.add_task("delivered", total=None)
            last_line = time.monotonic()

            def update(ledger: DemoLedger) -> None:
                nonlocal last_line
                bars.update(accepted, completed=ledger.accepted)
                bars.update(delivered, completed=ledger.arrived, total=ledger.wanted)
                if not self.console.is_terminal and time.monotonic() - last_line > _LINE_SECONDS:
                    last_line = time.monotonic()
                    self.say(
                        f"  accepted {ledger.accepted}/{events}, delivered {ledger.arrived}/{ledger.wanted}"
                    )

            yield update

    def summary(self, ledger: DemoLedger, seconds: float) -> None:
        """Print the table."""
        table = Table(title="What arrived", title_justify="left", header_style="bold")
        table.add_column("subscription")
        for heading in (
            "matched",
            "delivered",
            "missing",
            "unwanted",
            "altered",
            "repeated",
            "p50 ms",
            "p99 ms",
        ):
            table.add_column(heading, justify="right")
        for each in ledger.accounts():
            counts = (each.wanted, each.delivered, each.missing, each.unwanted, each.altered, each.repeated)
            table.add_row(each.name, *map(str, counts), f"{each.p50:.0f}", f"{each.p99:.0f}")
        self.console.print(table)
        self.say(
            f"accepted {ledger.accepted} events in {seconds:.1f} s, delivered {ledger.arrived} of {ledger.wanted}; "
            f"POST to sink p50 {ledger.latency(0.5):.0f} ms, p99 {ledger.latency(0.99):.0f} ms"
        )
