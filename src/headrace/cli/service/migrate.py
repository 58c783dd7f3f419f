"""`headrace migrate`: bring the tables of the databases to the version that this Headrace works with."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import load_config
from headrace.service.storage.databases import migrate as migrate_all
from headrace.service.storage.databases import schema_versions

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--check", is_flag=True, help="Change nothing; exit with 1 where there is something to do.")
@options.data
@options.config_file
@options.as_json
def migrate(check: bool, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Bring the tables to the newest version, ahead of the start that would do it, and show their versions.

    Make a copy of the databases first: there is no way back but that copy.

    \b
    Examples:
      headrace migrate --check
      headrace migrate --config headrace.toml
    """
    config = load_config(config_file, {"data": data})
    found = schema_versions(config) if check else migrate_all(config)
    if as_json:
        click.echo(msgspec.json.encode([each._asdict() for each in found]))
    else:
        print_table(
            ["tables", "database", "version", "newest"],
            [[each.family, each.database, each.version or "none", each.newest] for each in found],
        )
    sys.exit(0 if all(each.is_new for each in found) else 1)
