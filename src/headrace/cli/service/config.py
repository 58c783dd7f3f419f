"""`headrace config`: what is set, and by whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click
import msgspec

from headrace.cli import options
from headrace.cli.tables import print_table
from headrace.config import DEFAULTS, build, effective_values, shown

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--defaults", is_flag=True, help="Print the defaults file, with what each setting means.")
@options.data
@options.config_file
@options.as_json
def config(defaults: bool, data: str | None, config_file: Path | None, as_json: bool) -> None:
    """Print every setting in effect and where it comes from.

    \b
    Examples:
      headrace config
      headrace config --defaults
      HEADRACE_API_PORT=9000 headrace config --json
    """
    if defaults:
        click.echo(DEFAULTS.read_text())
        return
    values = effective_values(config_file, {"data": data})
    build(values)
    if as_json:
        click.echo(msgspec.json.encode({key: shown(key, each.value) for key, each in values.items()}))
        return
    print_table(
        ["setting", "value", "from"],
        [[key, str(shown(key, each.value)), each.origin] for key, each in values.items()],
    )
