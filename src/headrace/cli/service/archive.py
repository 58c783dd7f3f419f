"""`headrace archive`: what is kept for the long term, and bringing it up to date by hand."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import click
import msgspec
from rich.console import Console
from rich.progress import Progress

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.database.database import Database
from headrace.errors import ArchiveError
from headrace.eventlog.archive.maintenance import ArchiveMaintenance, drop_damaged_files
from headrace.eventlog.archive.storage import Storage
from headrace.eventlog.local.segments import END_WATERMARK
from headrace.eventlog.location import kafka_location, open_log
from headrace.events.positions import LogPosition
from headrace.service.storage.damage import setting_aside
from headrace.service.storage.layout import Layout

if TYPE_CHECKING:
    from pathlib import Path

    from headrace.config import Config
    from headrace.eventlog.archive.manifest import ArchivedFile, Manifest
    from headrace.eventlog.log import LogReader


@click.group()
def archive() -> None:
    """Show and keep the archive of past events, which seek, backtest and replay read."""


@archive.command("status")
@options.data
@options.config_file
@options.as_json
def archive_status(data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Show how many events are archived, of which channels and days, and how many wait in the log.

    \b
    Examples:
      headrace archive status
      headrace archive status --json
    """
    config = load_config(config_file, {"data": data})
    status = _status(config)
    if as_json:
        click.echo(msgspec.json.encode(status))
        return
    channels = status.pop("channels")
    print_table(["", ""], [[name.replace("_", " "), f"{value}"] for name, value in status.items()])
    if channels:
        click.echo()
        print_table(list(channels[0]), [[str(value) for value in row.values()] for row in channels])


@archive.command("run")
@options.data
@options.config_file
@options.as_json
def archive_run(data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Archive what the log has now, join small files, and remove what is too old. The service does so by itself.

    It may run beside the service. Stopped or killed at any moment, it leaves a whole archive.

    \b
    Example:
      headrace archive run
    """
    config = load_config(config_file, {"data": data})
    log = _log(config)
    if log is None:
        raise ArchiveError(f"there is no log in {config.data} yet; start the service with `headrace up`")
    storage = Storage(config.archive.path)
    begun = LogPosition(storage.manifest().archived)
    with (
        Database(config.store.url, config.store.patience_seconds) as store,
        Progress(console=Console(stderr=True), disable=as_json, transient=True) as bar,
    ):
        task = bar.add_task("archiving", total=begun.join(log.start()).count_to(log.end()) or 1)
        done = ArchiveMaintenance(storage, log, config.archive, setting_aside(store)).run(
            on_progress=lambda manifest: bar.update(
                task, completed=begun.count_to(LogPosition(manifest.archived))
            )
        )
    figures = {
        "archived": done.archived,
        "positions_lost": done.lost,
        "files_joined": done.joined,
        "files_expired": done.expired,
    }
    if as_json:
        click.echo(msgspec.json.encode(figures))
        return
    click.echo(
        f"archived {done.archived} events; joined {done.joined} small files, removed {done.expired} old ones"
    )
    if done.lost:
        click.echo(
            f"{done.lost} positions can't be archived any more: history lacks them. What is damaged is listed by "
            "`headrace get set-aside`; where the log had removed them, keep events in it for longer, or archive "
            "more often (archive.interval_seconds)",
            err=True,
        )


@archive.command("forget")
@options.data
@options.config_file
@options.as_json
def archive_forget(data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Read every file of the archive, and give those up that are missing or damaged: queries go on without them.

    Their events are counted as lost. Restore the files from a copy first, if there is one.

    \b
    Example:
      headrace archive forget
    """
    config = load_config(config_file, {"data": data})
    damaged = drop_damaged_files(Storage(config.archive.path))
    if as_json:
        click.echo(
            msgspec.json.encode({"files": [{"path": each.path, "held": each.held} for each in damaged]})
        )
        return
    for each in damaged:
        click.echo(f"gave up {each.path}, which held {each.held}")
    click.echo(f"{len(damaged)} files were damaged")


def _log(config: Config) -> LogReader | None:
    if config.log.kind == "kafka":
        return open_log(kafka_location(config.kafka))
    folder = Layout(config.data).log
    return open_log(str(folder)) if (folder / END_WATERMARK).exists() else None


def _status(config: Config) -> dict[str, Any]:
    manifest = Storage(config.archive.path).manifest()
    log, archived = _log(config), LogPosition(manifest.archived)
    waiting = 0 if log is None else archived.join(log.start()).count_to(log.end())
    return {
        "enabled": config.archive.enabled,
        "path": config.archive.path,
        "events": manifest.rows,
        "files": len(manifest.files),
        "bytes": manifest.bytes,
        "archived_to": str(archived),
        "expired_to": str(LogPosition(manifest.expired)),
        "waiting_in_log": waiting,
        "positions_lost": manifest.positions_lost,
        "channels": _channels(manifest),
    }


def _channels(manifest: Manifest) -> list[dict[str, Any]]:
    channels: dict[tuple[str, str], list[ArchivedFile]] = {}
    for file in manifest.files:
        channels.setdefault((file.namespace, file.channel), []).append(file)
    return [
        {
            "channel": f"{namespace}/{channel}",
            "events": sum(file.rows for file in files),
            "files": len(files),
            "bytes": sum(file.bytes for file in files),
            "oldest": _moment(min(file.published[0] for file in files)),
            "newest": _moment(max(file.published[1] for file in files)),
        }
        for (namespace, channel), files in sorted(channels.items())
    ]


def _moment(microseconds: int) -> str:
    return datetime.fromtimestamp(microseconds // 1_000_000, UTC).isoformat().replace("+00:00", "Z")
