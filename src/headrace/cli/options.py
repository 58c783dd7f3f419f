"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from headrace import client
from headrace.client.defaults import DEFAULT_CHANNEL, DEFAULT_URL
from headrace.client.token_file import TokenFile

_Command = TypeVar("_Command", bound=Callable[..., Any])

_PLACE = "headrace.token"


def _remember(context: click.Context, _: click.Parameter, token: str | None) -> None:
    """Keep the token where no command passes it on: it is never shown."""
    if token is not None:
        context.meta[_PLACE] = token


def _remember_file(context: click.Context, option: click.Parameter, path: str | None) -> None:
    """Keep the file's name, unless a token was given as well: then the command line wins over the environment."""
    if path is None:
        return
    given = {name: context.get_parameter_source(name) for name in ("token", str(option.name))}
    of_environment = [name for name, source in given.items() if source is ParameterSource.ENVIRONMENT]
    if _PLACE in context.meta and len(of_environment) != 1:
        raise click.UsageError(
            "give either --token (HEADRACE_TOKEN) or --token-file (HEADRACE_TOKEN_FILE), not both"
        )
    if _PLACE not in context.meta or of_environment == ["token"]:
        context.meta[_PLACE] = TokenFile(path)


_url = click.option(
    "--url", default=DEFAULT_URL, show_default=True, envvar="HEADRACE_URL", help="Where Headrace listens."
)
_service = click.option(
    "--url", envvar="HEADRACE_URL", help="Ask the service that listens there, not the database itself."
)
_token = click.option(
    "--token",
    envvar="HEADRACE_TOKEN",
    metavar="KEY",
    expose_value=False,
    callback=_remember,
    is_eager=True,
    help="An API key, or a token of an OpenID provider; better given as HEADRACE_TOKEN.",
)
_token_file = click.option(
    "--token-file",
    envvar="HEADRACE_TOKEN_FILE",
    type=click.Path(dir_okay=False),
    expose_value=False,
    callback=_remember_file,
    help="A file with the same in it, which is read anew for each request.",
)


def token(command: _Command) -> _Command:
    """Add who is asking."""
    return _token(_token_file(command))


def url(command: _Command) -> _Command:
    """Add where Headrace listens, and who is asking."""
    return _url(token(command))


def service(command: _Command) -> _Command:
    """Add the same for a command that works on the database unless it is told where a service listens."""
    return _service(token(command))


def given_token() -> str | TokenFile | None:
    """Return the token that the command under way was given, or the file that holds it."""
    found: str | TokenFile | None = click.get_current_context().meta.get(_PLACE)
    return found


def connect(url: str, *, timeout_seconds: float = 30.0) -> client.Client:
    """Return a client for the service, with the token that the command under way was given."""
    return client.Client(url, token=given_token(), timeout_seconds=timeout_seconds)


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
