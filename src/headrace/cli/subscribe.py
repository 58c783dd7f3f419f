"""`headrace subscribe`: ask for events."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.wishes import start_option, wish_options, wished


@click.command()
@click.option("--sink", help="Where events are delivered, for example http://127.0.0.1:9000/.")
@click.option("--pull", is_flag=True, help="Let events wait until they are asked for; see headrace tail.")
@wish_options
@start_option
@options.channel
@options.url
@options.as_json
def subscribe(
    *, sink: str | None, pull: bool, start: Any, channel: str, url: str, as_json: bool, **wishes: Any
) -> None:
    """Create a subscription: events accepted from now on that pass its filters go to the sink.

    With --pull it has no sink, and its events wait: headrace tail --subscription prints them.

    With --from it also gets events of the past: from earliest, a position (17), a time (2026-01-31T12:00:00Z), so
    long ago (2h), or from the first event that a filter matches ('{"cel": "ce.gtid == \'3E11:23\'"}').

    \b
    Examples:
      headrace subscribe --sink http://127.0.0.1:9000/ --prefix type=com.example.
      headrace subscribe --sink http://127.0.0.1:9000/ --filter '{"not": {"exact": {"type": "test"}}}'
      headrace subscribe --sink http://127.0.0.1:9000/ --from 2h
      headrace subscribe --sink http://127.0.0.1:9000/ --delivery '{"retry": 3, "backoffDelay": "PT2S"}'
      headrace subscribe --pull --cel 'data.amount > 100'
    """
    if pull == (sink is not None):
        raise click.UsageError("give either --sink or --pull")
    where = {"protocol": "PULL"} if pull else {"sink": sink, "protocol": "HTTP"}
    document: dict[str, Any] = {**where, "config": {}} | wished(**wishes)
    document["config"] |= {"channel": channel, **({"start": start} if start is not None else {})}
    created = asyncio.run(_create(document, url))
    click.echo(msgspec.json.encode(created) if as_json else created["id"])


async def _create(document: dict[str, Any], url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.subscribe(document)
