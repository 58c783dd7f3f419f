"""The host names under which this service answers.

A malicious page can make its own name resolve to this machine (DNS rebinding); then the browser takes the page and the
service for one origin, and lets its scripts talk to the service. The name in `Host` gives that away. So without
authentication only names are accepted that no stranger can own.
"""

from __future__ import annotations

import re
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from headrace.errors import InvalidRequest, WrongHost

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.api.settings import ApiSettings

_HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{0,5})?", re.ASCII)
_ANY = "*"
# Names in a cluster's own DNS. Nobody can register `svc` or `cluster.local`.
_CHANNEL = re.compile(r".*-kn-channel\..*\.svc(\.cluster\.local)?")
# A channel's name without the cluster's domain. Somebody may own it, so it is accepted for publishing only.
_SHORT_CHANNEL = re.compile(r"[^.]+-kn-channel\.[^.]+")
_REMEMBERED = 1024


class Hosts:
    """The accepted names; None for any valid name. For one event loop."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        given = None if names is None else {each.lower().strip("[]").rstrip(".") for each in names}
        self._is_open = given is None or _ANY in given
        self._names = frozenset(given or ())
        self._suffixes = tuple(each[1:] for each in self._names if each.startswith("*."))
        self._known: set[bytes] = set()

    def check(self, scope: dict[str, Any]) -> None:
        """Refuse a request without a host name, or with one that isn't accepted."""
        given = [value for name, value in scope["headers"] if name == b"host"]
        if len(given) == 1 and given[0] in self._known:
            return
        name = _name_in(given)
        if not self._is_open and not self._is_own(name, scope):
            raise WrongHost(name)
        if self._is_open or name in self._names or _is_loopback(name):
            self._remember(given[0])

    def _is_own(self, name: str, scope: dict[str, Any]) -> bool:
        if name in self._names or name.endswith(self._suffixes) or _is_loopback(name):
            return True
        # An IP address can't be rebound: probes of a cluster use the one that they connect to.
        if name == (scope.get("server") or ("",))[0] or _CHANNEL.fullmatch(name) is not None:
            return True
        return scope["path"] in ("/", "") and _SHORT_CHANNEL.fullmatch(name) is not None

    def _remember(self, host: bytes) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known.add(host)


def hosts_of(settings: ApiSettings, *, auth: bool) -> Hosts:
    """Return the names that the settings allow; with authentication any name, unless some are listed."""
    if auth and not settings.allowed_hosts:
        return Hosts()
    own = [settings.host, urlsplit(settings.address).hostname or ""]
    return Hosts([*settings.allowed_hosts, *(each for each in own if each)])


def _name_in(given: list[bytes]) -> str:
    if len(given) != 1:
        problem = "is missing" if not given else f"is given {len(given)} times"
        raise InvalidRequest([("Host", f"{problem}; a request names one host")])
    found = _HOST.fullmatch(given[0].decode("latin-1").lower())
    if found is None:
        raise InvalidRequest(
            [("Host", f"{given[0][:60]!r} is not a host name or address with an optional port")]
        )
    return found[1].strip("[]").rstrip(".")


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
