"""`headrace pause` and `headrace resume`: let a subscription's events wait for a while."""

from __future__ import annotations

import asyncio

import click

from headrace.cli import options


@click.command()
@click.argument("subscription_id")
@options.url
def pause(subscription_id: str, url: str) -> None:
    """Let a subscription's events wait: none is lost, and none is sent until it is resumed.

    \b
    Example:
      headrace pause 7f0c1f5e-0000-4000-8000-000000000000
    """
    asyncio.run(_change("pause", subscription_id, url))
    click.echo(f"paused {subscription_id}")


@click.command()
@click.argument("subscription_id")
@options.url
def resume(subscription_id: str, url: str) -> None:
    """Deliver a subscription's events again: one that was paused, or whose sink had said that it is gone.

    \b
    Example:
      headrace resume 7f0c1f5e-0000-4000-8000-000000000000
    """
    asyncio.run(_change("resume", subscription_id, url))
    click.echo(f"resumed {subscription_id}")


async def _change(action: str, subscription_id: str, url: str) -> None:
    async with options.connect(url) as client:
        await (client.pause if action == "pause" else client.resume)(subscription_id)
