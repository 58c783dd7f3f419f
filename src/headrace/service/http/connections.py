"""Limits on connections, in all and per address."""

from __future__ import annotations

import resource
from collections import Counter
from ipaddress import IPv6Address, ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from headrace.api.requests.proxies import Proxies
    from headrace.api.settings import ApiSettings

_OTHER_FILES = 256
"""Descriptors reserved for the log, the databases and everything else that isn't a connection."""


class Connections:
    """Counts connections. For one event loop. Trusted proxies stand for many clients, so only the total limits them."""

    def __init__(self, settings: ApiSettings, proxies: Proxies) -> None:
        self._most = most_connections(settings.max_connections)
        self._most_of_one = settings.max_connections_per_address
        self._proxies = proxies
        self._by_address: Counter[str] = Counter()
        self._all = 0

    def add(self, peer: str) -> str | None:
        """Count a connection; return why it is one too many, if it is. Either way the caller has to `remove` it."""
        address = _counted_as(peer)
        self._all += 1
        self._by_address[address] += 1
        if self._all > self._most:
            return f"there are {self._most} connections, and no more are taken (api.max_connections); try again later"
        if self._by_address[address] > self._most_of_one and not self._proxies.trusts(peer):
            return (
                f"{address} has {self._most_of_one} connections, and no more are taken "
                "(api.max_connections_per_address); use those that there are"
            )
        return None

    def remove(self, peer: str) -> None:
        """Forget a connection that has ended."""
        address = _counted_as(peer)
        self._all -= 1
        self._by_address[address] -= 1
        if not self._by_address[address]:
            del self._by_address[address]


def most_connections(wanted: int) -> int:
    """Return how many connections the limit on open files allows."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return wanted
    return max(1, min(wanted, files - min(_OTHER_FILES, files // 2)))


def _counted_as(peer: str) -> str:
    """Return the key an address is counted under: for IPv6 its /64 network, since one client usually has all of it."""
    if ":" not in peer:
        return peer
    try:
        address = ip_address(peer.partition("%")[0])
    except ValueError:
        return peer
    if not isinstance(address, IPv6Address):
        return peer
    mapped = address.ipv4_mapped
    if mapped is not None:
        return str(mapped)
    return str(IPv6Address(int(address) >> 64 << 64)) + "/64"
