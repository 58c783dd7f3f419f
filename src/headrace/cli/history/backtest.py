"""`headrace filter backtest`: what a filter would have matched."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.filters.arguments import compiled, takes_filter, written
from headrace.cli.history.chart import draw, print_chart
from headrace.cli.history.jobs import follow, requested
from headrace.cli.history.plots import require_plots
from headrace.cli.history.points import MOMENT
from headrace.cli.tables import print_table


@click.command()
@takes_filter
@click.option("--from", "start", type=MOMENT, help="Events accepted since this time, or so long ago (24h).")
@click.option("--to", "end", type=MOMENT, help="Events accepted before this time; without it, up to now.")
@click.option(
    "--examples", type=click.IntRange(0, 100), default=5, show_default=True, help="How many to show."
)
@click.option("--buckets", type=click.IntRange(1, 1000), default=60, show_default=True, help="Bars at most.")
@click.option(
    "--plot", type=click.Path(dir_okay=False, path_type=Path), help="Also draw a picture: .png or .svg."
)
@options.channel
@options.url
@options.as_json
def backtest(
    *,
    start: Any,
    end: Any,
    examples: int,
    buckets: int,
    plot: Path | None,
    channel: str,
    url: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Tell how many past events the filter would have matched, when, and show the last of them.

    The service is asked: it looks at every event of the channel that is still kept, in the log and the archive.

    \b
    Examples:
      headrace filter backtest --cel 'data.amount > 5' --from 24h
      headrace filter backtest -f filter.json --from 2026-01-01T00:00:00Z --plot january.svg --json
    """
    if plot is not None:
        require_plots()
    compiled(**given)
    asked = {"channel": channel, "start": start, "end": end, "examples": examples, "buckets": buckets}
    result = asyncio.run(_backtest(written(**given), asked, url))
    if plot is not None:
        draw(result, plot)
    if as_json:
        click.echo(msgspec.json.encode(result))
    else:
        _show(result)


async def _backtest(filters: Any, asked: dict[str, Any], url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await follow(client, await requested(client, client.backtest(filters, **asked)))


def _show(result: dict[str, Any]) -> None:
    events, matched = result["events"], result["matched"]
    share = f" ({matched / events:.2%})" if events else ""
    click.echo(f"{matched} of {events} events match{share}")
    if matched:
        print_chart(result)
        rows = [
            [str(each["position"]), each["publishTime"], *(each["event"].get(name, "") for name in _SHOWN)]
            for each in result["examples"]
        ]
        print_table(["position", "accepted", *_SHOWN], rows)


_SHOWN = ("id", "source", "type", "subject")
