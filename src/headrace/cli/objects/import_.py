"""`headrace import` and `headrace export`: many subscriptions, as lines of JSON."""

from __future__ import annotations

import asyncio
import os
from typing import IO, TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TimeElapsedColumn

from headrace.cli import options
from headrace.errors import ServiceRefused

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

_CHUNK = 1 << 16
_SHOWN = 20


@click.command("import")
@click.argument("file", type=click.File("rb"))
@click.option("--dry-run", is_flag=True, help="Check every line and create nothing.")
@click.option(
    "--keep-ids", is_flag=True, help="Keep the ids of the lines; who is there already stays as it is."
)
@click.option("--skip-faulty", is_flag=True, help="Create the others, where some lines can't be used.")
@options.url
@options.as_json
def import_(
    file: IO[bytes], dry_run: bool, keep_ids: bool, skip_faulty: bool, url: str, as_json: bool
) -> None:
    """Create a subscription of every line of a file, or of standard input (-); none if a line can't be used.

    A line is a subscription as JSON, as `headrace export` writes it and POST /subscriptions takes it. With --keep-ids
    an import can be repeated: what it created before is left alone. Who has no role in every namespace can't choose
    ids: theirs stay, and others become new ones, the same each time.

    \b
    Examples:
      headrace import subscriptions.jsonl --dry-run
      headrace import subscriptions.jsonl
      headrace export --url http://old:8080 | headrace import - --keep-ids
    """
    flags = {"dry_run": dry_run, "keep_ids": keep_ids, "skip_faulty": skip_faulty}
    try:
        outcome = asyncio.run(_import(file, url, flags))
    except ServiceRefused as refusal:
        if as_json:
            click.echo(msgspec.json.encode(refusal.problem))
        else:
            _show_lines(refusal.problem.get("lines", []), refusal.problem.get("refused", 0))
        raise
    if as_json:
        click.echo(msgspec.json.encode(outcome))
        return
    _show_lines(outcome["lines"], outcome["refused"])
    done = f"{outcome['accepted']:,} lines are good" if dry_run else f"{outcome['created']:,} created"
    existing = f", {outcome['existing']:,} were there already" if outcome["existing"] else ""
    renamed = f", {outcome['renamed']:,} of them under new ids" if outcome["renamed"] else ""
    refused = f", {outcome['refused']:,} skipped" if outcome["refused"] else ""
    click.echo(done + renamed + existing + refused)


@click.command()
@click.option(
    "-o", "--output", type=click.File("wb"), default="-", help="A file; standard output without it."
)
@click.option("--channel", metavar="NAMESPACE/NAME", help="Only the subscriptions of this channel.")
@options.url
def export(output: IO[bytes], channel: str | None, url: str) -> None:
    """Write the subscriptions, one a line, as JSON that `headrace import` reads.

    Secrets are not among it: write them into the lines that need them before an import.

    \b
    Examples:
      headrace export -o subscriptions.jsonl
      headrace export --channel default/orders
    """
    asyncio.run(_export(output, channel, url))


async def _import(file: IO[bytes], url: str, flags: Mapping[str, bool]) -> dict[str, Any]:
    columns = (TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        task = progress.add_task("checking", total=_size(file))

        async def chunks() -> AsyncIterator[bytes]:
            while chunk := await asyncio.to_thread(file.read, _CHUNK):
                yield chunk
                progress.advance(task, len(chunk))
            progress.update(task, description="checking" if flags["dry_run"] else "storing", total=None)

        async with options.connect(url) as client:
            return await client.import_subscriptions(chunks(), **flags)


async def _export(output: IO[bytes], channel: str | None, url: str) -> None:
    async with options.connect(url) as client:
        async for line in client.export_subscriptions(channel):
            output.write(line)
    output.flush()


def _size(file: IO[bytes]) -> int | None:
    """Tell how much there is to read, where that is known."""
    try:
        return os.fstat(file.fileno()).st_size or None
    except OSError:
        return None


def _show_lines(lines: list[dict[str, Any]], refused: int) -> None:
    for each in lines[:_SHOWN]:
        for fault in each["faults"]:
            place = f"line {each['line']}" + (f", {fault['path']}" if fault["path"] else "")
            click.echo(f"{place}: {fault['problem']}", err=True)
    if refused > _SHOWN:
        click.echo(f"and {refused - _SHOWN:,} more lines; --json shows up to 1,000", err=True)
