"""Options by which a command says which events are wanted, and how they are delivered."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import click
import msgspec

from headrace.cli.history.points import POINT

if TYPE_CHECKING:
    from collections.abc import Callable

_Command = TypeVar("_Command", bound="Callable[..., Any]")
_FILTERS = (
    click.option(
        "--filter",
        "filters",
        multiple=True,
        metavar="JSON",
        help="A filter object; all that are given must hold.",
    ),
    click.option("--exact", multiple=True, metavar="NAME=VALUE", help="The attribute is this value."),
    click.option(
        "--prefix", multiple=True, metavar="NAME=VALUE", help="The attribute starts with this value."
    ),
    click.option("--suffix", multiple=True, metavar="NAME=VALUE", help="The attribute ends with this value."),
    click.option("--cel", multiple=True, metavar="TEXT", help="A filter in CEL."),
    click.option("--sql", multiple=True, metavar="TEXT", help="A filter in CloudEvents SQL."),
    click.option("--source", help="Only events of this source."),
    click.option("--type", "types", multiple=True, help="Only events of this type; may be repeated."),
)
_DELIVERY = (
    click.option(
        "--delivery",
        metavar="JSON",
        help="How to deliver: retry, backoffDelay, timeout, ordering and so on.",
    ),
    click.option("--reply", metavar="URI", help="Where events go that the sink answers with."),
    click.option(
        "--settings",
        metavar="JSON",
        help="Settings of the protocol: headers, topicname, qos and so on.",
    ),
    click.option("--structured", is_flag=True, help="Deliver in structured mode; binary is the default."),
)


def wish_options(command: _Command) -> _Command:
    """Give a command the options; `subscription_properties` reads them."""
    for option in reversed((*_FILTERS, *_DELIVERY)):
        command = option(command)
    return command


def filter_options(command: _Command) -> _Command:
    """Give a command those of the options that say which events are wanted."""
    for option in reversed(_FILTERS):
        command = option(command)
    return command


start_option = click.option(
    "--from",
    "start",
    type=POINT,
    help="Also deliver what is kept since this point; without it, only what comes from now on.",
)


def subscription_properties(
    *,
    filters: tuple[str, ...],
    exact: tuple[str, ...],
    prefix: tuple[str, ...],
    suffix: tuple[str, ...],
    cel: tuple[str, ...],
    sql: tuple[str, ...],
    source: str | None,
    types: tuple[str, ...],
    delivery: str | None = None,
    reply: str | None = None,
    settings: str | None = None,
    structured: bool = False,
) -> dict[str, Any]:
    """Return the properties of a subscription that are given, and only those."""
    given = [parse_json(text, "--filter") for text in filters]
    for dialect, pairs in (("exact", exact), ("prefix", prefix), ("suffix", suffix)):
        given += [{dialect: _pair(dialect, text)} for text in pairs]
    for dialect, texts in (("cel", cel), ("sql", sql)):
        given += [{dialect: text} for text in texts]
    config: dict[str, Any] = {}
    if delivery is not None:
        config["delivery"] = parse_json(delivery, "--delivery")
    if reply is not None:
        config["reply"] = {"uri": reply}
    protocolsettings = {} if settings is None else parse_json(settings, "--settings")
    if not isinstance(protocolsettings, dict):
        raise click.BadParameter(f"{settings!r} is no object", param_hint="--settings")
    properties: dict[str, Any] = {
        "filters": given,
        "source": source,
        "types": list(types),
        "config": config,
        "protocolsettings": protocolsettings | {"mode": "structured"} if structured else protocolsettings,
    }
    return {name: value for name, value in properties.items() if value}


def parse_json(text: str, option: str) -> Any:
    """Read an option's JSON."""
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError as error:
        raise click.BadParameter(f"{text!r} is not JSON: {error}", param_hint=option) from None


def _pair(dialect: str, text: str) -> dict[str, str]:
    name, sign, value = text.partition("=")
    if not sign:
        raise click.BadParameter(f"{text!r} is not of the form NAME=VALUE", param_hint=f"--{dialect}")
    return {name: value}
