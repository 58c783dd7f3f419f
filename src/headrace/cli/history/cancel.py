"""`headrace cancel`: end a job."""

from __future__ import annotations

import asyncio

import click

from headrace.cli import options
from headrace.errors import ServiceRefused


@click.command()
@click.argument("job_id")
@options.url
def cancel(job_id: str, url: str) -> None:
    """Cancel a seek, a replay, a backtest or a redrive: what is not done yet stays undone.

    \b
    Example:
      headrace cancel 7f0c1f5e-0000-4000-8000-000000000000
    """
    asyncio.run(_cancel(job_id, url))
    click.echo(f"cancelled {job_id}")


async def _cancel(job_id: str, url: str) -> None:
    async with options.connect(url) as client:
        try:
            await client.cancel_job(job_id)
        except ServiceRefused as refusal:
            if refusal.status != 404:
                raise
            await client.cancel_redrive(job_id)
