"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path

import click

from headrace.client.client import DEFAULT_CHANNEL, DEFAULT_URL

url = click.option(
    "--url", default=DEFAULT_URL, show_default=True, envvar="HEADRACE_URL", help="Where Headrace listens."
)
channel = click.option(
    "--channel", default=DEFAULT_CHANNEL, show_default=True, metavar="NAMESPACE/NAME", help="The channel."
)
as_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")
config_file = click.option(
    "--config",
    "config_file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="A TOML file with settings; `headrace config` shows the format.",
)
data = click.option("--data", type=click.Path(file_okay=False), help="The folder that holds everything.")
