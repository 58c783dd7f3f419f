"""The names by which this service may be addressed.

A page of a stranger can let its own name lead to this machine (DNS rebinding), and then its scripts talk to the service
as if it were theirs: the browser takes the two for one origin. The name in `Host` gives that away. So where nobody is
asked who they are, only names that no stranger can own are answered.
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
# Names of a cluster's own DNS. `svc` and `cluster.local` are no domains that anybody could register.
_CHANNEL = re.compile(r".*-kn-channel\..*\.svc(\.cluster\.local)?")
# A channel's name without the cluster's domain. Somebody may own it, so that it is good for sending events alone.
_SHORT_CHANNEL = re.compile(r"[^.]+-kn-channel\.[^.]+")
_REMEMBERED = 1024


class Hosts:
    """Which names are answered to; None for any that is one. For one event loop."""

    def __init__(self, names: Iterable[str] | None = None) -> None:
        given = None if names is None else {each.lower().strip("[]").rstrip(".") for each in names}
        self._is_open = given is None or _ANY in given
        self._names = frozenset(given or ())
        self._suffixes = tuple(each[1:] for each in self._names if each.startswith("*."))
        self._known: set[bytes] = set()

    def check(self, scope: dict[str, Any]) -> None:
        """Refuse a request without a name, or with one that isn't this service's."""
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
        # An address can't be made to lead elsewhere: probes of a cluster use the one that they connect to.
        if name == (scope.get("server") or ("",))[0] or _CHANNEL.fullmatch(name) is not None:
            return True
        return scope["path"] in ("/", "") and _SHORT_CHANNEL.fullmatch(name) is not None

    def _remember(self, host: bytes) -> None:
        if len(self._known) >= _REMEMBERED:
            self._known.clear()
        self._known.add(host)


def hosts_of(settings: ApiSettings, *, auth: bool) -> Hosts:
    """Return the names that the settings allow. With authentication on any name is good unless some are listed."""
    if auth and not settings.allowed_hosts:
        return Hosts()
    own = [settings.host, urlsplit(settings.address).hostname or ""]
    return Hosts([*settings.allowed_hosts, *(each for each in own if each)])


def _name_in(given: list[bytes]) -> str:
    if len(given) != 1:
        problem = "is missing" if not given else f"stands {len(given)} times"
        raise InvalidRequest([("Host", f"{problem}; a request names one host")])
    found = _HOST.fullmatch(given[0].decode("latin-1").lower())
    if found is None:
        raise InvalidRequest([("Host", f"{given[0][:60]!r} is no name or address with or without a port")])
    return found[1].strip("[]").rstrip(".")


def _is_loopback(name: str) -> bool:
    if name == "localhost" or name.endswith(".localhost"):
        return True
    try:
        return ip_address(name).is_loopback
    except ValueError:
        return False
