"""`headrace demo`: see it work."""

from __future__ import annotations

import sys

import click

from headrace.cli.interrupt import end_as_with_ctrl_c
from headrace.demo.run import run_demo


@click.command()
@click.option("--events", default=3000, show_default=True, help="How many events to send.")
@click.option("--rate", default=300.0, show_default=True, help="How many per second.")
def demo(events: int, rate: float) -> None:
    """Start a service of its own, send events through it, and check what arrives.

    \b
    Example:
      headrace demo --events 5000 --rate 1000
    """
    end_as_with_ctrl_c()
    sys.exit(0 if run_demo(events, rate) else 1)
