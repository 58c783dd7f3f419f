"""`headrace subscribe`: ask for events."""

from __future__ import annotations

import asyncio
from typing import Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.points import POINT
from headrace.client import Client


@click.command()
@click.option("--sink", required=True, help="Where events are delivered, for example http://127.0.0.1:9000/.")
@click.option(
    "--filter",
    "filters",
    multiple=True,
    metavar="JSON",
    help="A filter object; all that are given must hold.",
)
@click.option("--exact", multiple=True, metavar="NAME=VALUE", help="The attribute is this value.")
@click.option("--prefix", multiple=True, metavar="NAME=VALUE", help="The attribute starts with this value.")
@click.option("--suffix", multiple=True, metavar="NAME=VALUE", help="The attribute ends with this value.")
@click.option("--source", help="Only events of this source.")
@click.option("--type", "types", multiple=True, help="Only events of this type; may be repeated.")
@click.option(
    "--from",
    "start",
    type=POINT,
    help="Also deliver what is kept since this point; without it, only what comes from now on.",
)
@click.option(
    "--delivery", metavar="JSON", help="How to deliver: retry, backoffDelay, timeout, ordering and so on."
)
@click.option("--reply", metavar="URI", help="Where events go that the sink answers with.")
@click.option("--structured", is_flag=True, help="Deliver in structured mode; binary is the default.")
@options.channel
@options.url
@options.as_json
def subscribe(
    *,
    sink: str,
    filters: tuple[str, ...],
    exact: tuple[str, ...],
    prefix: tuple[str, ...],
    suffix: tuple[str, ...],
    source: str | None,
    types: tuple[str, ...],
    start: Any,
    delivery: str | None,
    reply: str | None,
    structured: bool,
    channel: str,
    url: str,
    as_json: bool,
) -> None:
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
    document: dict[str, Any] = {
        "sink": sink,
        "protocol": "HTTP",
        "config": {"channel": channel, **({"start": start} if start is not None else {})},
        "filters": [_parse(text) for text in filters],
    }
    for dialect, given in (("exact", exact), ("prefix", prefix), ("suffix", suffix)):
        document["filters"] += [{dialect: _pair(dialect, text)} for text in given]
    if delivery is not None:
        document["config"]["delivery"] = _parse(delivery, "--delivery")
    if reply is not None:
        document["config"]["reply"] = {"uri": reply}
    if source is not None:
        document["source"] = source
    if types:
        document["types"] = list(types)
    if structured:
        document["protocolsettings"] = {"mode": "structured"}
    created = asyncio.run(_create(document, url))
    click.echo(msgspec.json.encode(created) if as_json else created["id"])


def _parse(text: str, option: str = "--filter") -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"{text!r} is not JSON: {error}", param_hint=option) from None


def _pair(dialect: str, text: str) -> dict[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=f"--{dialect}")
    return {name: value}


async def _create(document: dict[str, Any], url: str) -> dict[str, Any]:
    async with Client(url) as client:
        return await client.subscribe(document)
