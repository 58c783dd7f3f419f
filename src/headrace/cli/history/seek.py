"""`headrace seek`: deliver a subscription from another point of the history on."""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.filters.arguments import optional_filter, takes_filter
from headrace.cli.history.jobs import detached, follow, requested, say_where
from headrace.cli.history.points import POINT


@click.command()
@click.argument("subscription_id")
@click.argument("point", type=POINT, required=False)
@takes_filter
@click.option("--dry-run", is_flag=True, help="Only tell the position; the subscription stays where it is.")
@detached
@options.url
@options.as_json
def seek(
    *,
    subscription_id: str,
    point: Any,
    dry_run: bool,
    detach: bool,
    url: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Deliver a subscription from a point of the history on.

    The point is earliest, latest, a position (17), a time (2026-01-31T12:00:00Z), or so long ago (2h). With a filter it
    is the first event from there on, or from the earliest, that the filter matches. What was delivered already is
    delivered again if it comes behind the point; what waits before it isn't delivered any more.

    Exit status: 1 where no event is at the point; then nothing changes.

    \b
    Examples:
      headrace seek 7f0c1f5e-0000-4000-8000-000000000000 2h
      headrace seek 7f0c1f5e-0000-4000-8000-000000000000 --cel 'int(ce.tso) >= 441' --dry-run
    """
    to = _point(point, optional_filter(**given))
    result = asyncio.run(_seek(subscription_id, to, url, dry_run=dry_run, detach=detach))
    if result is None:
        return
    click.echo(msgspec.json.encode(result) if as_json else _told(result))
    sys.exit(0 if result["found"] else 1)


def _point(point: Any, filter_: Any) -> Any:
    if filter_ is None:
        if point is None:
            raise click.UsageError("give a point, a filter or both; see headrace seek --help")
        return point
    if isinstance(point, dict) and "filter" in point:
        raise click.UsageError("give the filter in one way")
    if point == "latest":
        raise click.UsageError("nothing comes behind the latest event yet that a filter could match")
    return {**(point if isinstance(point, dict) else {}), "filter": filter_}


async def _seek(
    subscription_id: str, to: Any, url: str, *, dry_run: bool, detach: bool
) -> dict[str, Any] | None:
    async with options.connect(url) as client:
        job = await requested(client, client.seek(subscription_id, to, dry_run=dry_run))
        if detach:
            say_where(job)
            return None
        return await follow(client, job)


def _told(result: dict[str, Any]) -> str:
    if not result["found"]:
        return "no event is there; the subscription stays where it is"
    event = result.get("event")
    which = f", event {event['id']} of {event['source']} accepted {event['publishTime']}" if event else ""
    place = f"position {msgspec.json.encode(result['position']).decode()}{which}"
    if not result["moved"]:
        return place
    return f"{place}; delivered from there on" + (
        f" (job {result['catchUp']})" if "catchUp" in result else ""
    )
