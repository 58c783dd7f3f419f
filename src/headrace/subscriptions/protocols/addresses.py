"""Sink addresses, taken apart: a scheme, one or several hosts, a path."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

if TYPE_CHECKING:
    from headrace.subscriptions.protocols.protocol import Protocol

_NOT_IN_A_URI = re.compile(r"[\s\x00-\x1f\x7f]")
_USER = "a URI with a user name or password would be shown to everyone who lists subscriptions; use sinkCredential"


class BadAddress(ValueError):
    """An address that can't be used; the message never has its user info."""


@dataclass(frozen=True, slots=True)
class Address:
    """`path` is decoded, without the slash it begins with."""

    scheme: str
    hosts: tuple[tuple[str, int | None], ...]
    path: str


def read_address(name: str, protocol: Protocol, uri: str) -> Address:
    """Take an address apart, or raise BadAddress if it doesn't fit the protocol of this name."""
    try:
        parts = urlsplit(uri)
        hosts = tuple(_host(each) for each in parts.netloc.rpartition("@")[2].split(","))
    except ValueError as error:
        raise BadAddress(f"it is not a URI: {error}") from None
    if "@" in parts.netloc:
        raise BadAddress(_USER)
    misfit = _misfit(protocol, uri, parts.scheme, hosts)
    if misfit or ((parts.query or parts.fragment) and not protocol.has_query):
        raise BadAddress(f"{uri!r} does not fit protocol {name}: it takes {protocol.example}")
    return Address(parts.scheme, hosts, unquote(parts.path.removeprefix("/")))


def _misfit(protocol: Protocol, uri: str, scheme: str, hosts: tuple[tuple[str, int | None], ...]) -> bool:
    return (
        scheme not in protocol.schemes
        or not all(host and port != 0 for host, port in hosts)
        or (len(hosts) > 1 and not protocol.several_hosts)
        or bool(_NOT_IN_A_URI.search(uri))
    )


def _host(netloc: str) -> tuple[str, int | None]:
    parts = urlsplit(f"//{netloc}")
    return parts.hostname or "", parts.port
