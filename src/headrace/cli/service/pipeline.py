"""`headrace pipeline`: run the route alone, on this machine's cores or on a Spark cluster."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from headrace.cli import options
from headrace.config import load_config
from headrace.service.processes.supervisor import Supervisor
from headrace.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from pathlib import Path


@click.command()
@click.option("--master", help="Spark's master: spark://host:7077, or local[*] for this machine (local[*]).")
@click.option("--driver-host", help="The name by which the cluster's machines reach this one.")
@options.data
@options.config_file
def pipeline(master: str | None, driver_host: str | None, data: str | None, config_file: Path | None) -> None:
    """Run the pipeline alone and stay until Ctrl-C.

    It reads the log and the subscriptions where the configuration says they are, and writes the outbox. On a
    cluster every machine needs the same Python environment at the same path, and pipeline.rosters has to be a
    folder that all of them see.

    \b
    Examples:
      headrace pipeline --data ./headrace-data
      headrace pipeline --master spark://spark.example:7077 --config headrace.toml
    """
    configure_logs("%(asctime)s supervisor %(levelname)-7s %(message)s")
    overrides = {
        "pipeline.master": master,
        "pipeline.driver_host": driver_host,
        "data": data,
        "roles": ["pipeline"],
    }
    config = load_config(config_file, overrides)
    click.echo(f"The pipeline is starting on {config.pipeline.master}; Spark takes some seconds.", err=True)
    sys.exit(Supervisor(config).run(lambda: click.echo("Ready: events are being routed.", err=True)))
