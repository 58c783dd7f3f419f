"""`headrace bench`: measure on this machine."""

from __future__ import annotations

import click


@click.group()
def bench() -> None:
    """Measure what this machine reaches."""
