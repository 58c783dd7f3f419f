"""`headrace subscribe`: ask for events."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.points import POINT
from headrace.cli.wishes import wish_options, wished


@click.command()
@click.option("--sink", required=True, help="Where events are delivered, for example http://127.0.0.1:9000/.")
@wish_options
@click.option(
    "--from",
    "start",
    type=POINT,
    help="Also deliver what is kept since this point; without it, only what comes from now on.",
)
@options.channel
@options.url
@options.as_json
def subscribe(*, sink: str, start: Any, channel: str, url: str, as_json: bool, **wishes: Any) -> None:
    """Create a subscription: events accepted from now on that pass its filters go to the sink.

    With --from it also gets events of the past: from earliest, a position (17), a time (2026-01-31T12:00:00Z), so
    long ago (2h), or from the first event that a filter matches ('{"cel": "ce.gtid == \'3E11:23\'"}').

    \b
    Examples:
      headrace subscribe --sink http://127.0.0.1:9000/ --prefix type=com.example.
      headrace subscribe --sink http://127.0.0.1:9000/ --filter '{"not": {"exact": {"type": "test"}}}'
      headrace subscribe --sink http://127.0.0.1:9000/ --from 2h
      headrace subscribe --sink http://127.0.0.1:9000/ --delivery '{"retry": 3, "backoffDelay": "PT2S"}'
    """
    document: dict[str, Any] = {"sink": sink, "protocol": "HTTP", "config": {}} | wished(**wishes)
    document["config"] |= {"channel": channel, **({"start": start} if start is not None else {})}
    created = asyncio.run(_create(document, url))
    click.echo(msgspec.json.encode(created) if as_json else created["id"])


async def _create(document: dict[str, Any], url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.subscribe(document)
