"""Waiting for a job, with its progress."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeElapsedColumn

from headrace.errors import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Coroutine, Mapping

    from headrace.client import Client

detached = click.option(
    "--detach", is_flag=True, help="Print the job's id and don't wait for its end; else Ctrl-C cancels it."
)


async def requested(client: Client, request: Coroutine[Any, Any, dict[str, Any]]) -> dict[str, Any]:
    """Ask for a job. Ctrl-C meanwhile cancels it as well: the service may have it before its answer is here."""
    asked = asyncio.ensure_future(request)
    try:
        return await asyncio.shield(asked)
    except asyncio.CancelledError:
        await _cancel(client, await asked)
        raise


async def follow(client: Client, job: Mapping[str, Any]) -> dict[str, Any]:
    """Wait for a job with a bar on standard error, and return its result. Ctrl-C cancels the job."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", style="dim"),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task(job["kind"], total=1.0, note="")

        def show(now: Mapping[str, Any]) -> None:
            progress.update(task, completed=now["progress"], note=now.get("note", now["state"]))

        try:
            return await client.finished(job, show)
        except asyncio.CancelledError:
            progress.stop()
            await _cancel(client, job)
            raise
        finally:
            progress.stop()


async def _cancel(client: Client, job: Mapping[str, Any]) -> None:
    try:
        await client.cancel_job(job["id"])
        click.echo(f"cancelled {job['kind']} {job['id']}", err=True)
    except HeadraceError as error:  # it has just ended, or nobody is there to be told
        click.echo(str(error), err=True)


def say_where(job: Mapping[str, Any]) -> None:
    """Say where to look for a job that nobody waits for."""
    click.echo(job["id"])
    click.echo(
        f"see how it goes with `headrace get jobs {job['id']}`, end it with `headrace cancel`", err=True
    )
