"""The client of a request that comes through proxies.

Anybody can send `X-Forwarded-For`. It is trusted from configured proxies only, and only the part that they can know:
the last address that isn't another trusted proxy. `Forwarded`, `X-Forwarded-Host` and `X-Forwarded-Proto` are ignored.
"""

from __future__ import annotations

from ipaddress import ip_address, ip_network
from typing import TYPE_CHECKING, Any

from headrace.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from ipaddress import IPv4Address, IPv6Address

_HEADER = b"x-forwarded-for"


class Proxies:
    """The trusted proxies. Immutable, so threads may share it."""

    def __init__(self, networks: Sequence[str] = ()) -> None:
        try:
            self._networks = tuple(ip_network(each, strict=False) for each in networks)
        except ValueError as error:
            raise ConfigError(
                f"api.trusted_proxies is {list(networks)!r}, which can't be used: {error}; "
                'give addresses or networks such as "10.0.0.0/8"'
            ) from None

    def trusts(self, address: str) -> bool:
        """Tell whether an address belongs to a trusted proxy."""
        if not self._networks:
            return False
        found = _parsed(address)
        return found is not None and any(found in network for network in self._networks)

    def client(self, scope: dict[str, Any]) -> tuple[str, int] | None:
        """Return the address and port of the client, as far as they are known; port 0 if it isn't."""
        peer: tuple[str, int] | None = scope.get("client")
        if peer is None or not self.trusts(peer[0]):
            return peer
        given = b",".join(value for name, value in scope["headers"] if name == _HEADER)
        hops = [each.strip() for each in given.decode("latin-1").split(",") if each.strip()]
        for hop in reversed(hops):
            address = _parsed(_without_port(hop))
            if address is None:
                return peer  # the hops before it come from a sender that writes nonsense
            if not self.trusts(str(address)):
                return str(address), 0
            peer = str(address), 0
        return peer


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    try:
        found = ip_address(text.partition("%")[0])
    except ValueError:
        return None
    return getattr(found, "ipv4_mapped", None) or found


def _without_port(hop: str) -> str:
    if hop.startswith("["):
        return hop[1:].partition("]")[0]
    return hop.partition(":")[0] if hop.count(":") == 1 else hop
