"""`headrace up`: start the service and stay."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from headrace.auth.exposure import check_exposure, describe
from headrace.cli import options
from headrace.config import load_config
from headrace.service.processes.lifeline import hold_on_to_starter
from headrace.service.processes.supervisor import Supervisor
from headrace.telemetry.logs import configure_logs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from headrace.delivery.sinks.networks import Network

# The roles that listen.
_LISTENING = frozenset({"http", "ingress", "api"})


@click.command()
@click.option("--port", type=int, help="The port to listen on (8080).")
@click.option("--host", help="The address to listen on (127.0.0.1).")
@click.option("--role", "roles", multiple=True, help="Run only this part here; may be repeated.")
@click.option(
    "--end-with-input",
    is_flag=True,
    help="Stop when standard input ends, as when the program that started it dies.",
)
@options.data
@options.config_file
def up(
    *,
    port: int | None,
    host: str | None,
    roles: tuple[str, ...],
    end_with_input: bool,
    data: str | None,
    config_file: Path | None,
) -> None:
    """Start the service on this machine and stay until Ctrl-C.

    \b
    Example:
      headrace up --port 8080 --data ./headrace-data
    """
    configure_logs("%(asctime)s supervisor %(levelname)-7s %(message)s")
    config = load_config(
        config_file, {"api.port": port, "api.host": host, "data": data, "roles": list(roles) or None}
    )
    listens = _LISTENING.intersection(config.roles)
    if listens:
        check_exposure(config.api.host, config.auth)
    address = f"http://{config.api.host}:{config.api.port}"
    patience = "; Spark takes some seconds" if "pipeline" in config.roles else ""
    click.echo(f"Headrace keeps its data in {config.data} and is starting{patience}.", err=True)
    if listens:
        click.echo(f"Here {describe(config.api.host, config.auth)}.", err=True)
    if "dispatcher" in config.roles:
        click.echo(_where_deliveries_go(config.delivery.allow_networks), err=True)

    def on_ready() -> None:
        click.echo(f"Ready. Send events to {address}/channels/default/default", err=True)

    if end_with_input:
        hold_on_to_starter()
    sys.exit(Supervisor(config).run(on_ready))


def _where_deliveries_go(allowed: Sequence[Network]) -> str:
    ranges = ", ".join(map(str, allowed)) or "nothing else"
    return f"Deliveries go to public addresses and, by delivery.allow_networks, to: {ranges}."
