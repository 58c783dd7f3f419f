"""`headrace get`: show what there is."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.client import Client


@click.command()
@click.argument("kind", type=click.Choice(["subscriptions", "channels"]))
@click.argument("subscription_id", required=False)
@options.url
@options.as_json
def get(kind: str, subscription_id: str | None, url: str, as_json: bool) -> None:
    """List subscriptions or channels, or show one subscription by its id.

    \b
    Examples:
      headrace get subscriptions
      headrace get channels --json
    """
    if subscription_id is not None and kind == "channels":
        raise click.UsageError("an id goes with subscriptions only")
    found = asyncio.run(_fetch(kind, subscription_id, url))
    if as_json or subscription_id is not None:
        click.echo(msgspec.json.format(msgspec.json.encode(found), indent=2))
    elif kind == "channels":
        print_table(
            ["namespace", "name", "url"], [[each["namespace"], each["name"], each["url"]] for each in found]
        )
    else:
        _print_subscriptions(found)


async def _fetch(kind: str, subscription_id: str | None, url: str) -> Any:
    async with Client(url) as client:
        if subscription_id is not None:
            return await client.subscription(subscription_id)
        return await (client.channels() if kind == "channels" else client.subscriptions())


def _print_subscriptions(found: list[dict[str, Any]]) -> None:
    """Print them; the last column is there only when there is something to tell."""
    rows = [
        [each["id"], each["config"]["channel"], each["sink"], _filters(each), _status(each)] for each in found
    ]
    headings = ["id", "channel", "sink", "filters", "status"]
    width = len(headings) if any(row[-1] for row in rows) else len(headings) - 1
    print_table(headings[:width], [row[:width] for row in rows])


def _status(subscription: dict[str, Any]) -> str:
    status = subscription.get("status", {}).get("filter")
    if not status:
        return ""
    times = status["overruns"]
    often = "once," if times == 1 else f"{times} times, last"
    return f"filter cost too much {often} at position {status['position']}: {status['reason']}"


def _filters(subscription: dict[str, Any]) -> str:
    return msgspec.json.encode(subscription["filters"]).decode() if subscription["filters"] else "all events"
