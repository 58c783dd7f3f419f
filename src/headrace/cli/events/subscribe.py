"""`headrace subscribe`: ask for events."""

from __future__ import annotations

import asyncio
from typing import IO, Any

import click
import msgspec

from headrace.cli import options
from headrace.cli.events.options import parse_json, start_option, subscription_properties, wish_options
from headrace.protocols import PROTOCOLS
from headrace.protocols.pull import NAME as PULL

_BY_SCHEME = {scheme: name for name, protocol in PROTOCOLS.items() for scheme in protocol.address.schemes}


@click.command()
@click.option("--sink", help="Where events are delivered, for example http://127.0.0.1:9000/.")
@click.option(
    "--protocol",
    type=click.Choice(list(PROTOCOLS)),
    help="By which the sink is reached; the scheme of its address tells unless it is given.",
)
@click.option("--pull", is_flag=True, help="Let events wait until they are asked for; see headrace tail.")
@wish_options
@start_option
@click.option(
    "-f",
    "--file",
    "file",
    type=click.File("r"),
    help="The whole object as JSON, - for standard input: for what is secret, and whatever there is no option for.",
)
@options.channel
@options.url
@options.as_json
def subscribe(
    *,
    sink: str | None,
    protocol: str | None,
    pull: bool,
    start: Any,
    file: IO[str] | None,
    channel: str,
    url: str,
    as_json: bool,
    **wishes: Any,
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
      headrace subscribe --sink kafka://127.0.0.1:9092/orders --type com.example.order
      headrace subscribe --sink mqtt://127.0.0.1:1883 --settings '{"topicname": "orders"}'
      headrace subscribe --pull --cel 'data.amount > 100'
      headrace subscribe --file subscription.json
    """
    if [sink is not None, pull, file is not None].count(True) != 1:
        raise click.UsageError("give either --sink, --pull or --file")
    wanted = subscription_properties(**wishes)
    if file is not None:
        if wanted or protocol is not None or start is not None:
            raise click.UsageError("what is wanted stands in the --file; give nothing else beside it")
        document = parse_json(file.read(), "--file")
    else:
        where = {"protocol": PULL} if sink is None else {"sink": sink, "protocol": protocol or _told_by(sink)}
        document = {**where, "config": {}} | wanted
        document["config"] |= {"channel": channel, **({"start": start} if start is not None else {})}
    created = asyncio.run(_create(document, url))
    click.echo(msgspec.json.encode(created) if as_json else created["id"])


def _told_by(sink: str) -> str:
    """Return the protocol of the sink's scheme, of two the newer one; what no protocol has, the service tells."""
    return _BY_SCHEME.get(sink.partition(":")[0].lower(), "HTTP")


async def _create(document: dict[str, Any], url: str) -> dict[str, Any]:
    async with options.connect(url) as client:
        return await client.subscribe(document)
