"""`headrace update`: change a subscription that is there."""

from __future__ import annotations

import asyncio
from typing import IO, Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.events.options import parse_json, subscription_properties, wish_options

_ALL_EVENTS: dict[str, Any] = {"filters": [], "source": None, "types": []}


@click.command()
@click.argument("subscription_id")
@click.option("--sink", help="Where events are delivered from now on.")
@wish_options
@click.option("--all-events", is_flag=True, help="Leave out filters, source and types that it has.")
@click.option(
    "-f",
    "--file",
    "file",
    type=click.File("r"),
    help="The whole object as JSON, - for standard input; what it leaves out has its default.",
)
@click.option("--if-match", "etag", metavar="ETAG", help="Only if this is still its ETag.")
@options.url
@options.as_json
def update(
    *,
    subscription_id: str,
    sink: str | None,
    all_events: bool,
    file: IO[str] | None,
    etag: str | None,
    url: str,
    as_json: bool,
    **wishes: Any,
) -> None:
    """Change a subscription: what is given takes the place of what it has, and the rest stays.

    It keeps its id and its place among the events: none is lost or doubled over it. Where somebody else changes it at
    the same moment, nothing is done. Its secrets stay as long as scheme, host and port of the sink do.

    \b
    Examples:
      headrace update 7f0c1f5e-0000-4000-8000-000000000000 --sink http://127.0.0.1:9000/orders
      headrace update 7f0c1f5e-0000-4000-8000-000000000000 --prefix type=com.example.
      headrace update 7f0c1f5e-0000-4000-8000-000000000000 --file subscription.json
    """
    changes = subscription_properties(**wishes) | ({} if sink is None else {"sink": sink})
    if bool(changes or all_events) == (file is not None):
        raise click.UsageError("give what changes, or the whole object with --file")
    given = None if file is None else parse_json(file.read(), "--file")
    changes = (_ALL_EVENTS if all_events else {}) | changes
    done = asyncio.run(_update(subscription_id, changes, given, etag, url))
    click.echo(msgspec.json.encode(done) if as_json else f"updated {subscription_id}")


async def _update(
    subscription_id: str, changes: dict[str, Any], given: Any, etag: str | None, url: str
) -> dict[str, Any]:
    async with options.connect(url) as client:
        if given is not None:
            return await client.update_subscription(subscription_id, given, etag)
        seen, seen_etag = await client.look_at_subscription(subscription_id)
        return await client.update_subscription(subscription_id, _changed(seen, changes), etag or seen_etag)


def _changed(seen: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    """Put changes over what is there; of config and settings, those that are named."""
    merged = {
        name: {**seen.get(name, {}), **value} if isinstance(value, dict) else value
        for name, value in changes.items()
    }
    return {name: value for name, value in (seen | merged).items() if value is not None}
