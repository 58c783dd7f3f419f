"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from headrace.client.client import DEFAULT_CHANNEL, DEFAULT_URL, Client

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PLACE = "headrace.token"


def _remember(context: click.Context, _: click.Parameter, token: str | None) -> None:
    """Keep the token where no command passes it on: it is never shown."""
    context.meta[_PLACE] = token


_url = click.option(
    "--url", default=DEFAULT_URL, show_default=True, envvar="HEADRACE_URL", help="Where Headrace listens."
)
_service = click.option(
    "--url", envvar="HEADRACE_URL", help="Ask the service that listens there, not the database itself."
)
token = click.option(
    "--token",
    envvar="HEADRACE_TOKEN",
    metavar="KEY",
    expose_value=False,
    callback=_remember,
    help="An API key, or a token of an OpenID provider; better given as HEADRACE_TOKEN.",
)


def url(command: _Command) -> _Command:
    """Add where Headrace listens, and who is asking."""
    return _url(token(command))


def service(command: _Command) -> _Command:
    """Add the same for a command that works on the database unless it is told where a service listens."""
    return _service(token(command))


def given_token() -> str | None:
    """Return the token that the command under way was given."""
    found: str | None = click.get_current_context().meta.get(_PLACE)
    return found


def connect(url: str, *, timeout_seconds: float = 30.0) -> Client:
    """Return a client for the service, with the token that the command under way was given."""
    return Client(url, token=given_token(), timeout_seconds=timeout_seconds)


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
