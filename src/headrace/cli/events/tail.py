"""`headrace tail`: print events as they come, by a subscription that is there for as long as the command."""

from __future__ import annotations

import asyncio
import signal
from contextlib import AsyncExitStack, suppress
from typing import TYPE_CHECKING, Any

import click

from headrace.cli import options
from headrace.cli.events.lines import described
from headrace.cli.events.options import filter_options, start_option, subscription_properties
from headrace.errors import ServiceRefused
from headrace.events.json_format import encode

if TYPE_CHECKING:
    from headrace.client import Client


@click.command()
@click.option("--subscription", "subscription_id", help="Print what waits for this one, and acknowledge it.")
@filter_options
@start_option
@click.option("--count", type=click.IntRange(1), help="Stop after this many events.")
@options.channel
@options.url
@options.as_json
def tail(
    *,
    subscription_id: str | None,
    start: Any,
    count: int | None,
    channel: str,
    url: str,
    as_json: bool,
    **wanted: Any,
) -> None:
    """Print events of a channel that pass the filters, until Ctrl-C. No sink is needed.

    A subscription is made for it and deleted at the end. With --subscription an existing one of protocol PULL is
    read (headrace subscribe --pull): what was printed is acknowledged, and not printed the next time.

    \b
    Examples:
      headrace tail --prefix type=com.example.
      headrace tail --from 1h --cel 'data.amount > 100' --json
      headrace tail --subscription 7f0c1f5e-0000-4000-8000-000000000000
    """
    if subscription_id is not None and (start is not None or any(wanted.values())):
        raise click.UsageError("a subscription has filters of its own; give either it or what is wanted")
    config = {"channel": channel, **({} if start is None else {"start": start})}
    document = {"config": config, "protocol": "PULL", "protocolsettings": {"expired": "drop"}}
    asyncio.run(
        _tail(subscription_id, document | subscription_properties(**wanted), count, url, as_json=as_json)
    )


async def _tail(
    subscription_id: str | None, document: dict[str, Any], count: int | None, url: str, *, as_json: bool
) -> None:
    async with AsyncExitStack() as ending:
        client = await ending.enter_async_context(options.connect(url))
        if subscription_id is None:
            subscription_id = str((await client.subscribe(document))["id"])
            ending.push_async_callback(_remove, client, subscription_id)
            click.echo(f"subscription {subscription_id}, until Ctrl-C", err=True)
        printing = asyncio.create_task(_print(client, subscription_id, count, as_json=as_json))
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, printing.cancel)
        with suppress(asyncio.CancelledError):
            await printing


async def _print(client: Client, subscription_id: str, count: int | None, *, as_json: bool) -> None:
    printed = 0
    async with client.events(subscription_id) as events:
        async for event in events:
            click.echo(encode(event).decode() if as_json else described(event))
            printed += 1
            if printed == count:
                await events.acknowledge()
                return


async def _remove(client: Client, subscription_id: str) -> None:
    with suppress(ServiceRefused):  # somebody else did
        await client.unsubscribe(subscription_id)
