"""`headrace redrive` and `headrace retry`: make deliveries again."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from headrace.cli import options
from headrace.cli.filters.arguments import optional_filter, takes_filter
from headrace.cli.history.points import MOMENT
from headrace.errors import RedriveFailed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.client import Client

_WAIT_SECONDS = 1


@click.command()
@click.option("--subscription", help="Only deliveries of this subscription.")
@click.option("--channel", metavar="NAMESPACE/NAME", help="Only those of this channel's subscriptions.")
@click.option(
    "--state",
    type=click.Choice(["dead", "waiting"]),
    default="dead",
    show_default=True,
    help="Those that were given up, or those that wait for another attempt.",
)
@click.option(
    "--since", type=MOMENT, help="Only those given up, or due, since this time, or so long ago (2h)."
)
@click.option("--until", type=MOMENT, help="Only those given up, or due, before this time.")
@click.option("--rate", type=click.FloatRange(min=0, min_open=True), help="At most so many a second.")
@takes_filter
@click.option("--dry-run", is_flag=True, help="Only count them.")
@click.option("--yes", is_flag=True, help="Don't ask before it begins.")
@click.option("--detach", is_flag=True, help="Print the redrive's id and don't wait for its end.")
@options.url
@options.as_json
def redrive(
    *,
    subscription: str | None,
    channel: str | None,
    state: str,
    since: Any,
    until: Any,
    rate: float | None,
    dry_run: bool,
    yes: bool,
    detach: bool,
    url: str,
    as_json: bool,
    **given: str | None,
) -> None:
    """Make deliveries again: dead ones are taken up anew, those that wait become due.

    They are counted first, and nothing begins before you have seen how many they are.

    \b
    Examples:
      headrace redrive --since 2h --dry-run
      headrace redrive --channel shop/orders --cel 'data.amount > 5' --rate 100 --yes
    """
    asked = {
        "subscription": subscription, "channel": channel, "state": state, "since": since, "until": until,
        "rate": rate, "filter": optional_filter(**given),
    }  # fmt: skip
    found = asyncio.run(_count(asked, url))
    if dry_run:
        click.echo(
            msgspec.json.encode({"found": found}) if as_json else f"{found} deliveries would be made again"
        )
        return
    if not yes:
        click.confirm(f"{found} deliveries will be made again. Go on?", abort=True, err=True)
    ended = asyncio.run(_redrive(asked, url, detach=detach))
    if as_json:
        click.echo(msgspec.json.encode(ended))
    elif detach:
        click.echo(ended["id"])
    else:
        click.echo(f"{ended['moved']} deliveries are on their way again")


@click.command()
@click.argument("attempt_id", type=int)
@options.url
@options.as_json
def retry(attempt_id: int, url: str, as_json: bool) -> None:
    """Deliver the event of an attempt to its subscription again, now.

    \b
    Example:
      headrace retry 17
    """
    ended = asyncio.run(_retry(attempt_id, url))
    click.echo(msgspec.json.encode(ended) if as_json else f"attempt {attempt_id} is made again")


async def _count(asked: dict[str, Any], url: str) -> int:
    async with options.connect(url) as client:
        return int((await client.redrive(dry_run=True, **asked))["found"])


async def _redrive(asked: dict[str, Any], url: str, *, detach: bool) -> dict[str, Any]:
    async with options.connect(url) as client:
        begun = await client.redrive(**asked)
        return begun if detach else await _follow(client, begun)


async def _retry(attempt_id: int, url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await _follow(client, await client.retry(attempt_id))


async def _follow(client: Client, redrive: Mapping[str, Any]) -> dict[str, Any]:
    """Wait for a redrive with a bar on standard error, and return what came of it."""
    columns = TextColumn("redrive"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("redrive", total=redrive["found"])
        while True:
            now = await client.find_redrive(redrive["id"], wait_seconds=_WAIT_SECONDS)
            progress.update(task, completed=now["moved"])
            if now["state"] == "done":
                return now
            if now["state"] != "running":
                raise RedriveFailed(now)
