"""Tables for people, and for the pipes they build."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.console import Console
from rich.table import Table
from rich.text import Text

from headrace.telemetry.texts import one_line

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

_WIDE = 100_000


def print_table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Print rows in columns. Cells are never cut: what is read by a program has no width."""
    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    table = Table(box=None, header_style="bold", pad_edge=False)
    for heading in headings:
        table.add_column(heading, overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    console.print(table)
