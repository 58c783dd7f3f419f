"""`headrace backup`: a copy of a deployment, made while it runs."""

from __future__ import annotations

from pathlib import Path

import click
import msgspec
from rich.console import Console
from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from headrace.cli import options
from headrace.config import load_config
from headrace.service.backup.backup import back_up


@click.command()
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--with-secrets-key",
    is_flag=True,
    help="Copy the key of subscriptions' secrets too; whoever has such a backup can read them.",
)
@options.data
@options.config_file
@options.as_json
def backup(
    *, folder: Path, with_secrets_key: bool, data: str | None, config_file: Path | None, as_json: bool
) -> None:
    """Copy the databases, the log and the outbox into a new FOLDER, with checksums; the service may run meanwhile.

    `headrace restore` puts it back. The key of secrets stays out of it unless you ask for it: keep a copy of that
    elsewhere. The archive isn't copied: its files never change, and any program may copy them.

    \b
    Examples:
      headrace backup ./backups/monday
      headrace backup /mnt/backups/today --data ./headrace-data --json
    """
    config = load_config(config_file, {"data": data})
    columns = (SpinnerColumn(), TextColumn("copying {task.description}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), disable=as_json, transient=True) as bar:
        task = bar.add_task("", total=None)
        made = back_up(
            config,
            folder,
            with_key=with_secrets_key,
            on_file=lambda name: bar.update(task, description=name),
        )
    if as_json:
        click.echo(msgspec.json.encode(made._asdict()))
        return
    click.echo(f"copied {made.files} files, {made.bytes:,} bytes, to {folder}")
    for each in made.left_out:
        click.echo(f"not in it: {each}")
