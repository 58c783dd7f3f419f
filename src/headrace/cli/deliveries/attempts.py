"""`headrace attempts`: what was tried, and what the sinks said."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.history.points import MOMENT
from headrace.cli.tables import print_table
from headrace.telemetry.texts import one_line

_FOLLOW_SECONDS = 1.0
_HEADINGS = ["id", "time", "subscription", "position", "stage", "try", "verdict", "status", "ms", "reason"]


@click.command()
@click.argument("attempt_id", type=int, required=False)
@click.option("--subscription", help="Only those of this subscription.")
@click.option("--channel", metavar="NAMESPACE/NAME", help="Only those of this channel's subscriptions.")
@click.option(
    "--verdict", type=click.Choice(["done", "again", "never", "gone"]), help="Only those of this outcome."
)
@click.option("--status", help="Only those answered with this status, such as 503, or 5xx.")
@click.option(
    "--stage", type=click.Choice(["sink", "reply", "dead-letter"]), help="Only those at this address."
)
@click.option("--position", type=click.IntRange(min=0), help="Only those of the event at this position.")
@click.option("--since", type=MOMENT, help="Only those since this time, or so long ago (2h).")
@click.option("--until", type=MOMENT, help="Only those before this time.")
@click.option("--limit", type=click.IntRange(1, 1000), default=50, show_default=True, help="At most so many.")
@click.option("--follow", is_flag=True, help="Print new ones as they come, the oldest first, until stopped.")
@options.url
@options.as_json
def attempts(attempt_id: int | None, *, follow: bool, url: str, as_json: bool, **which: Any) -> None:
    """List the attempts that were made, the newest first; with an id, show one with what the sink answered.

    \b
    Examples:
      headrace attempts --verdict again --since 1h
      headrace attempts --status 5xx --channel shop/orders --json
      headrace attempts 17
    """
    if attempt_id is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(asyncio.run(_one(attempt_id, url))), indent=2))
    elif follow:
        asyncio.run(_follow(url, which, as_json=as_json))
    else:
        found = asyncio.run(_list(url, which))
        if as_json:
            click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
        else:
            print_table(_HEADINGS, [_row(each) for each in found])


async def _one(attempt_id: int, url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.attempt(attempt_id)


async def _list(url: str, which: dict[str, Any]) -> list[dict[str, Any]]:
    async with options.connect(url) as client:
        return list((await client.attempts(**which))["attempts"])


async def _follow(url: str, which: dict[str, Any], *, as_json: bool) -> None:
    """Print what is new every second. Its id tells: what is written later has a higher one."""
    last = 0
    async with options.connect(url) as client:
        while True:
            found = (await client.attempts(**which))["attempts"]
            for each in sorted((each for each in found if each["id"] > last), key=lambda each: each["id"]):
                click.echo(msgspec.json.encode(each) if as_json else one_line("  ".join(_row(each))))
                last = each["id"]
            await asyncio.sleep(_FOLLOW_SECONDS)


def _row(attempt: dict[str, Any]) -> list[str]:
    return [
        str(attempt["id"]),
        attempt["time"],
        attempt["subscription"],
        str(attempt["position"]),
        attempt["stage"],
        str(attempt["attempt"]),
        attempt["verdict"],
        str(attempt.get("status", "")),
        f"{attempt['seconds'] * 1000:.1f}",
        attempt.get("reason", ""),
    ]
