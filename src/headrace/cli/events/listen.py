"""`headrace listen`: a local sink that prints what arrives."""

from __future__ import annotations

import asyncio
import signal
from typing import TYPE_CHECKING

import click

from headrace import client
from headrace.cli import options
from headrace.cli.events.lines import described
from headrace.delivery.sinks.signatures import verifier
from headrace.errors import ConfigError
from headrace.events.json_format import encode
from headrace.telemetry.texts import one_line

if TYPE_CHECKING:
    from headrace.client import Received


@click.command()
@click.option("--port", default=9000, show_default=True, help="The port to listen on.")
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--count", type=int, help="Stop after this many events.")
@click.option(
    "--secret",
    default="",
    callback=lambda *given: _check_key(given[-1]),
    help="Take only what is signed with this key: whsec_… or whpk_….",
)
@options.as_json
def listen(port: int, host: str, count: int | None, secret: str, as_json: bool) -> None:
    """Print the events that are delivered here, until Ctrl-C.

    \b
    Example:
      headrace listen --port 9000 --json
    """
    asyncio.run(_listen(host, port, count, secret, as_json=as_json))


def _check_key(key: str) -> str:
    if key:
        try:
            verifier(key)
        except ValueError as error:
            raise click.BadParameter(str(error)) from None
    return key


async def _listen(host: str, port: int, count: int | None, key: str, *, as_json: bool) -> None:
    done = asyncio.Event()
    seen = 0

    def on_received(received: Received) -> None:
        nonlocal seen
        shown = f"{one_line(received.path)}  {described(received.event)}"
        click.echo(encode(received.event).decode() if as_json else shown)
        seen += 1
        if seen == count:
            done.set()

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, done.set)
    try:
        async with client.Sink(on_received, host=host, port=port, key=key) as sink:
            click.echo(f"listening on {sink.url}/ (Ctrl-C ends)", err=True)
            await done.wait()
    except OSError as error:
        raise ConfigError(
            f"can't listen on {host}:{port}: {error.strerror}; choose another with --port"
        ) from error
