"""`headrace delete`: end a subscription."""

from __future__ import annotations

import asyncio

import click

from headrace.cli import options
from headrace.client import Client


@click.command()
@click.argument("subscription_id")
@options.url
def delete(subscription_id: str, url: str) -> None:
    """End a subscription: it gets no event accepted from now on, and what is not delivered yet is dropped.

    \b
    Example:
      headrace delete 7f0c1f5e-0000-4000-8000-000000000000
    """
    asyncio.run(_delete(subscription_id, url))
    click.echo(f"deleted {subscription_id}")


async def _delete(subscription_id: str, url: str) -> None:
    async with Client(url) as client:
        await client.unsubscribe(subscription_id)
