"""`headrace restore`: putting a backup back, or going on without one."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.service.backup import restore as restoration

if TYPE_CHECKING:
    from headrace.config import Config
    from headrace.service.backup.restore import Rebuilt, Restored

_DATABASE = click.Choice(["store", "ledger"])
_SHOWN = 20
_MEANING = {
    "store": "Channels, subscriptions and keys are those of that moment: make again what was made since then.",
    "ledger": "What was delivered since then is delivered again; dead letters and attempts since then are lost.",
}
# What isn't known to be missing from a database that isn't the one it was, however well it can be read.
_UNKNOWN = {
    "store": "Look whether channels, subscriptions and keys are missing or changed, and make them again.",
    "ledger": "Dead letters and attempts may be missing.",
}


@click.command()
@click.option(
    "--from",
    "folder",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="A backup, as `headrace backup` made it.",
)
@click.option("--only", type=_DATABASE, help="With --from: put back this database and leave everything else.")
@click.option("--rebuild", type=_DATABASE, help="Make a new database of what can be read of the damaged one.")
@click.option("--accept", type=_DATABASE, help="Go on with a database although it is older, or another one.")
@options.data
@options.config_file
@options.as_json
def restore(
    *,
    folder: Path | None,
    only: str | None,
    rebuild: str | None,
    accept: str | None,
    data: str | None,
    config_file: Path | None,
    as_json: bool,
) -> None:
    """Put a backup back, or mend a damaged database without one. The service has to be stopped.

    What is replaced is kept beside it, under a name that ends in the time. The store has channels, subscriptions, keys
    and jobs; the ledger has the cursor, waiting retries, dead letters, what waits to be pulled, and attempts.

    \b
    Examples:
      headrace restore --from ./backups/monday --data ./new-data
      headrace restore --from ./backups/monday --only ledger
      headrace restore --rebuild ledger
      headrace restore --accept store
    """
    if sum(each is not None for each in (folder, rebuild, accept)) != 1 or (only and not folder):
        raise click.UsageError("give one of --from FOLDER (with --only or without), --rebuild and --accept")
    config = load_config(config_file, {"data": data})
    if folder is not None:
        _show_restored(_restore(config, folder, only, quiet=as_json), only, as_json=as_json)
    elif rebuild is not None:
        _show_rebuilt(restoration.rebuild(config, rebuild), rebuild, as_json=as_json)
    elif accept is not None:
        path = restoration.accept(config, accept)
        _show({"accepted": str(path)}, f"{path} is taken for what it is. {_MEANING[accept]}", as_json=as_json)


def _restore(config: Config, folder: Path, only: str | None, *, quiet: bool) -> Restored:
    with Progress(console=Console(stderr=True), disable=quiet, transient=True) as bar:
        task = bar.add_task("checking", total=None)

        def on_progress(count: int, total: int) -> None:
            bar.update(task, advance=count, total=total)

        if only is None:
            return restoration.restore(config, folder, on_progress)
        return restoration.restore_only(config, folder, only, on_progress)


def _show_restored(restored: Restored, only: str | None, *, as_json: bool) -> None:
    text = f"put {restored.files} file{'s' * (restored.files != 1)} back, as of {restored.made}"
    if only is not None:
        text += f". {_MEANING[only]}"
    if restored.kept is not None:
        text += f"\nwhat was there before is in {restored.kept}"
    document = restored._asdict() | {"kept": restored.kept and str(restored.kept)}
    _show(document, text, as_json=as_json)


def _show_rebuilt(rebuilt: Rebuilt, name: str, *, as_json: bool) -> None:
    tables = [each._asdict() for each in rebuilt.tables]
    document = {
        "kept": rebuilt.kept and str(rebuilt.kept),
        "tables": tables,
        "lost_subscriptions": rebuilt.lost,
        "delivers_again": rebuilt.repeats,
        "finding": rebuilt.finding and rebuilt.finding.text,
    }
    if as_json:
        click.echo(msgspec.json.encode(document))
        return
    rows = [
        [each.table, f"{each.kept}", "all" if each.complete else "some are lost"] for each in rebuilt.tables
    ]
    print_table(["table", "rows kept", ""], rows)
    if rebuilt.finding is not None:
        click.echo(f"Be careful: {rebuilt.finding.text}. {_UNKNOWN[name]}")
    if rebuilt.lost:
        more = f" and {len(rebuilt.lost) - _SHOWN} more (--json)" if len(rebuilt.lost) > _SHOWN else ""
        click.echo(f"lost subscriptions, to be made again: {', '.join(rebuilt.lost[:_SHOWN])}{more}")
    if rebuilt.repeats:
        click.echo(
            "It can't be told what is still to be delivered, so everything that is in the log is delivered again. "
            "Lost for good: retries, mailboxes and replies of events that are no longer in the log, and the dead "
            "letters and attempts that are missing above."
        )
    if rebuilt.kept is not None:
        click.echo(f"the damaged database is kept in {rebuilt.kept}")


def _show(document: dict[str, Any], text: str, *, as_json: bool) -> None:
    click.echo(msgspec.json.encode(document) if as_json else text)
