"""Which addresses lie outside the public internet, and by what rule.

Only what is known to be public passes: of IPv6 the block of global unicast without its special parts. An address that
carries another one inside (IPv4-mapped, NAT64, 6to4, Teredo) is refused for what it is, and then for what it carries.
"""

from __future__ import annotations

from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import TypeAlias

IpAddress: TypeAlias = IPv4Address | IPv6Address
_Rules: TypeAlias = list[tuple[IPv4Network | IPv6Network, str]]

METADATA = frozenset(
    ip_address(text)
    for text in (
        "169.254.169.254",  # most clouds
        "169.254.170.2",  # credentials of AWS's containers
        "169.254.170.23",
        "fd00:ec2::254",
        "fd00:ec2::23",
        "fd20:ce::254",  # Google
        "100.100.100.200",  # Alibaba
        "168.63.129.16",  # Azure, a public address
        "192.0.0.192",  # Oracle
    )
)
"""Where clouds hand out credentials. A range doesn't allow them: only the address by itself does."""


def _rules(text: str) -> _Rules:
    pairs = (line.split(None, 1) for line in text.strip().splitlines())
    return [(ip_network(network), name) for network, name in pairs]


# The first that fits says why: the narrow ones come before those around them.
_IPV4 = _rules("""
    0.0.0.0/32          the unspecified address
    0.0.0.0/8           a reserved address
    10.0.0.0/8          a private address
    100.64.0.0/10       an address of carrier-grade NAT
    127.0.0.0/8         a loopback address
    169.254.0.0/16      a link-local address
    172.16.0.0/12       a private address
    192.0.0.0/24        a reserved address
    192.0.2.0/24        an address for documentation
    192.88.99.0/24      an address of 6to4 relays
    192.168.0.0/16      a private address
    198.18.0.0/15       an address for benchmarks
    198.51.100.0/24     an address for documentation
    203.0.113.0/24      an address for documentation
    224.0.0.0/4         a multicast address
    240.0.0.0/4         a reserved address
""")
_IPV6 = _rules("""
    ::/128              the unspecified address
    ::1/128             a loopback address
    ::ffff:0:0/96       an IPv4-mapped address
    ::ffff:0:0:0/96     an IPv4-translated address
    ::/96               an IPv4-compatible address
    64:ff9b::/96        a NAT64 address
    64:ff9b:1::/48      a NAT64 address of local use
    2001::/32           a Teredo address
    2001::/23           a reserved address
    2001:db8::/32       an address for documentation
    2002::/16           a 6to4 address
    3fff::/20           an address for documentation
    fc00::/7            a private address
    fe80::/10           a link-local address
    fec0::/10           a site-local address
    ff00::/8            a multicast address
""")
_GLOBAL_UNICAST = IPv6Network("2000::/3")
_CARRIED_AT_THE_END = [IPv6Network(text) for text in ("::ffff:0:0/96", "::ffff:0:0:0/96", "64:ff9b::/96")]
_COMPATIBLE = IPv6Network("::/96")


class Network:
    """A range that an operator allows: `10.1.0.0/16`, or one address."""

    __slots__ = ("_range",)

    def __init__(self, text: str) -> None:
        try:
            self._range = ip_network(text)
        except ValueError as error:
            raise ValueError(f"{text!r} is no range of addresses such as 10.1.0.0/16: {error}") from None

    def __contains__(self, address: IpAddress) -> bool:
        if address in METADATA and self._range.num_addresses > 1:
            return False
        return address in self._range

    def __str__(self) -> str:
        return str(self._range)

    def __repr__(self) -> str:
        return f"Network({str(self)!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Network) and self._range == other._range

    def __hash__(self) -> int:
        return hash(self._range)


def parse_address(text: str) -> IpAddress:
    """Read an address as the operating system writes it, without the zone of a link-local one."""
    return ip_address(text.partition("%")[0])


def rule_against(address: IpAddress) -> str | None:
    """Tell what an address is, where that is anything but public. What it carries is not looked at."""
    if address in METADATA:
        return "a metadata address"
    for network, name in _IPV4 if address.version == 4 else _IPV6:
        if address in network:
            return name
    if address.version == 6 and address not in _GLOBAL_UNICAST:
        return "a reserved address"
    return None


def carried(address: IpAddress) -> list[IPv4Address]:
    """Return the IPv4 addresses to which this one may lead."""
    if isinstance(address, IPv4Address):
        return []
    if address.sixtofour is not None:
        return [address.sixtofour]
    if address.teredo is not None:
        return list(address.teredo)
    if any(address in network for network in _CARRIED_AT_THE_END) or (
        address in _COMPATIBLE and int(address) > 1
    ):
        return [IPv4Address(int(address) & 0xFFFFFFFF)]
    return []
