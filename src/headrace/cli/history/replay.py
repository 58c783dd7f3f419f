"""`headrace replay`: deliver events of the past once more."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.filters.arguments import optional_filter, takes_filter
from headrace.cli.history.jobs import detached, follow, requested, say_where
from headrace.cli.history.points import POINT


@click.command()
@click.argument("subscription_id")
@click.option(
    "--from", "start", type=POINT, default="earliest", show_default=True, help="Where the replay begins."
)
@click.option(
    "--to", "end", type=POINT, help="Where it ends, itself excluded; without it, at the end of the log."
)
@takes_filter
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="At most so many events a second.")
@detached
@options.url
@options.as_json
def replay(
    *,
    subscription_id: str,
    start: Any,
    end: Any,
    rate: float | None,
    detach: bool,
    url: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Deliver events of the past to a subscription once more.

    Of the events between the two points it gets those that its own filters match, and the filter given here if there
    is one. They carry the extension attribute headracereplay with the id of the replay.

    A point is earliest, latest, a position (17), a time (2026-01-31T12:00:00Z), so long ago (2h), or the first event
    that a filter matches, as JSON.

    \b
    Examples:
      headrace replay 7f0c1f5e-0000-4000-8000-000000000000 --from 2h --rate 100
      headrace replay 7f0c1f5e-0000-4000-8000-000000000000 --from 17 --to 99 --cel 'data.amount > 5' --detach
    """
    filter_ = optional_filter(**given)
    asked = {"start": start, "end": end, "filter": filter_, "rate": rate}
    result = asyncio.run(_replay(subscription_id, asked, url, detach=detach))
    if result is None:
        return
    told = f"delivered {result['delivered']} of {result['found']} events"
    given_up = f", gave up {result['dead']}" if result["dead"] else ""
    click.echo(msgspec.json.encode(result) if as_json else told + given_up)


async def _replay(
    subscription_id: str, asked: dict[str, Any], url: str, *, detach: bool
) -> dict[str, Any] | None:
    async with options.connect(url) as client:
        job = await requested(client, client.replay(subscription_id, **asked))
        if detach:
            say_where(job)
            return None
        return await follow(client, job)
