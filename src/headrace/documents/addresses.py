"""Sink addresses, taken apart: a scheme, one or several hosts, a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote, urlsplit

_BLANKS = r"\s\x00-\x1f\x7f\x85\ufeff"  # what is blank for JavaScript or for Python
_NOT_IN_A_URI = re.compile(f"[{_BLANKS}]")
_PORT = "0*(?:[1-9][0-9]{0,3}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5])"
_HOST = rf"(?:\[[0-9A-Fa-fvV:.]+\]|[^/?#@,:\[\]{_BLANKS}]+)(?::(?:{_PORT})?)?"
_USER = "a URI with a user name or password would be shown to everyone who lists subscriptions; use sinkCredential"


class BadAddress(ValueError):
    """An address that can't be used; the message never has its user info."""


@dataclass(frozen=True, slots=True)
class Address:
    """`path` is decoded, without the slash it begins with."""

    scheme: str
    hosts: tuple[tuple[str, int | None], ...]
    path: str


@dataclass(frozen=True, slots=True)
class AddressForm:
    """What an address may look like; `example` shows how users should write it.

    With `path_names_target` its path may name the destination at a broker. It has no other path, unless `has_query`.
    """

    schemes: tuple[str, ...]
    example: str
    several_hosts: bool = False
    has_query: bool = False
    path_names_target: bool = False


WEB_ADDRESS = AddressForm(("http", "https"), "http://host/… or https://host/…", has_query=True)


def any_case(pattern: str) -> str:
    """Return a pattern, in which a letter stands for itself alone, with each letter in either case."""
    return "".join(f"[{each.lower()}{each.upper()}]" if each.isalpha() else each for each in pattern)


def read_address(name: str, form: AddressForm, uri: str) -> Address:
    """Take an address apart, or raise BadAddress if it doesn't fit the protocol of this name."""
    try:
        parts = urlsplit(uri)
        hosts = tuple(_host(each) for each in parts.netloc.rpartition("@")[2].split(","))
    except ValueError as error:
        raise BadAddress(f"it is not a URI: {error}") from None
    if "@" in parts.netloc:
        raise BadAddress(_USER)
    misfit = _misfit(form, uri, parts.scheme, hosts)
    if misfit or (not form.has_query and re.search("[?#]", uri)):
        raise BadAddress(f"{uri!r} does not fit protocol {name}: it takes {form.example}")
    return Address(parts.scheme, hosts, unquote(parts.path.removeprefix("/")))


def address_schema(form: AddressForm, *, names_target: bool = False) -> dict[str, Any]:
    """Describe in JSON Schema what `read_address` takes, as far as that can be said of hosts.

    With `names_target`, only addresses whose path names the destination at the broker.
    """
    schemes = "|".join(map(any_case, form.schemes))
    hosts = f"{_HOST}(?:,{_HOST})*" if form.several_hosts else _HOST
    if form.has_query:
        rest = f"(?:[/?#][^{_BLANKS}]*)?"
    elif form.path_names_target:
        rest = f"/[^?#{_BLANKS}]+" if names_target else f"(?:/[^?#{_BLANKS}]*)?"
    else:
        rest = "/?"
    return {"type": "string", "pattern": f"^(?:{schemes})://{hosts}{rest}$"}


def authority_of(uri: str) -> tuple[str, tuple[tuple[str, int | None], ...]]:
    """Return to whom an address that was found good leads: its scheme, and its hosts with their ports."""
    parts = urlsplit(uri)
    return parts.scheme, tuple(_host(each) for each in parts.netloc.split(","))


def _misfit(form: AddressForm, uri: str, scheme: str, hosts: tuple[tuple[str, int | None], ...]) -> bool:
    return (
        scheme not in form.schemes
        or not all(host and port != 0 for host, port in hosts)
        or (len(hosts) > 1 and not form.several_hosts)
        or bool(_NOT_IN_A_URI.search(uri))
    )


def _host(netloc: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname or "", parts.port
