"""The one way to the network: who may be connected to is decided on the address, at the moment of connecting.

Sinks are named by strangers. A name is resolved once, each of its addresses is checked, and the connection goes to an
address that was checked, never to the name again: whoever changes the name's answer in between gains nothing. Every
connection to a sink, a reply address, a dead-letter sink, a token endpoint or for a handshake is made here.
"""

from __future__ import annotations

import asyncio
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.sinks.networks import carried, parse_address, rule_against
from headrace.errors import RefusedAddress

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from headrace.delivery.sinks.networks import IpAddress, Network

# The default pool has few threads, and names that nobody answers for would hold all of them.
_LOOKUPS = 32


@dataclass(frozen=True, slots=True)
class Address:
    """An address that may be connected to."""

    family: int
    sockaddr: tuple[Any, ...]

    @property
    def host(self) -> str:
        """The address itself, as text."""
        return str(self.sockaddr[0])


def refusal(error: RefusedAddress) -> Outcome:
    """Turn a refusal into what a sender answers.

    The rule for every protocol: an address stays what it is, so it is never tried again; a name may lead elsewhere
    later, so it is.
    """
    return Outcome(Verdict.NEVER if error.literal else Verdict.AGAIN, str(error))


class Guard:
    """Checks, resolves and connects. May be used from several threads; `close` ends its own.

    `lookup` answers as `socket.getaddrinfo` does, which it is by default. It is asked for names only.
    """

    def __init__(
        self, allow: Iterable[Network] = (), lookup: Callable[..., list[Any]] = socket.getaddrinfo
    ) -> None:
        self._allow = tuple(allow)
        self._lookup = lookup
        self._threads = ThreadPoolExecutor(_LOOKUPS, "lookup")

    def check(self, address: str, host: str | None = None) -> None:
        """Raise RefusedAddress unless this address may be connected to; `host` is the name it was found by."""
        found = parse_address(address)
        for each in (found, *carried(found)):
            rule = rule_against(each)
            if rule is not None and not self._allows(each):
                said = rule if each is found else f"{rule_against(found)} that carries {each}, {rule}"
                asked = host or address
                raise RefusedAddress(address, said, asked, literal=is_literal(asked))

    def is_public(self, address: str) -> bool:
        """Tell whether an address is one of the public internet, where no operator vouches for the way to it."""
        return rule_against(parse_address(address)) is None

    async def resolve(self, host: str, port: int) -> list[Address]:
        """Return the addresses of a host that may be connected to: at least one, or OSError or RefusedAddress."""
        found = _literal(host, port)
        if found is None:
            loop = asyncio.get_running_loop()
            found = await loop.run_in_executor(self._threads, self._look_up, host, port)
        return self._checked(found, host)

    def resolve_blocking(self, host: str, port: int) -> list[Address]:
        """Do the same in a thread that may wait."""
        return self._checked(_literal(host, port) or self._look_up(host, port), host)

    async def connect(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ASYNC109
        """Return a connected socket that doesn't block. All addresses together get `timeout` seconds."""
        loop, deadline = asyncio.get_running_loop(), time.monotonic() + timeout
        async with asyncio.timeout(timeout):
            addresses = await self.resolve(host, port)
            for left in range(len(addresses), 0, -1):
                address = addresses[-left]
                made = _new_socket(address)
                try:
                    async with asyncio.timeout((deadline - time.monotonic()) / left):
                        await loop.sock_connect(made, address.sockaddr)
                except BaseException as error:
                    made.close()
                    if left > 1 and isinstance(error, OSError):  # TimeoutError is one
                        continue
                    raise
                return made
        raise AssertionError("resolve returned no address")

    def create_connection(self, host: str, port: int, timeout: float) -> socket.socket:
        """Return a connected socket that blocks, for libraries that work in threads; its timeout is `timeout`."""
        deadline = time.monotonic() + timeout
        addresses = self.resolve_blocking(host, port)
        for left in range(len(addresses), 0, -1):
            address = addresses[-left]
            made = _new_socket(address)
            try:
                made.settimeout(max((deadline - time.monotonic()) / left, 0.001))
                made.connect(address.sockaddr)
                made.settimeout(timeout)
            except BaseException as error:
                made.close()
                if left > 1 and isinstance(error, OSError):
                    continue
                raise
            return made
        raise AssertionError("resolve returned no address")

    def close(self) -> None:
        """End the threads; lookups under way end by themselves."""
        self._threads.shutdown(wait=False, cancel_futures=True)

    def _allows(self, address: IpAddress) -> bool:
        return any(address in network for network in self._allow)

    def _look_up(self, host: str, port: int) -> list[Any]:
        try:
            return self._lookup(host, port, type=socket.SOCK_STREAM)
        except UnicodeError as error:
            raise socket.gaierror(socket.EAI_NONAME, f"{host!r} is no host name: {error}") from None

    def _checked(self, found: list[Any], host: str) -> list[Address]:
        """Leave out what is refused; a name all of whose addresses are refused is refused by the first."""
        passed: list[Address] = []
        refused: RefusedAddress | None = None
        for family, _, _, _, sockaddr in found:
            try:
                self.check(sockaddr[0], host)
            except RefusedAddress as error:
                refused = refused or error
            else:
                passed.append(Address(family, sockaddr))
        if passed:
            return passed
        raise refused or socket.gaierror(socket.EAI_NONAME, f"{host!r} has no address")


def _literal(host: str, port: int) -> list[Any] | None:
    """Read a host that is an address, in any of the forms that the operating system knows (`0x7f.1`)."""
    with suppress(OSError, UnicodeError):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_NUMERICHOST)
    return None


def is_literal(host: str) -> bool:
    """Tell whether a host is an address, which no name server can change."""
    return _literal(host, 0) is not None


def _new_socket(address: Address) -> socket.socket:
    made = socket.socket(address.family, socket.SOCK_STREAM)
    made.setblocking(False)
    with suppress(OSError):
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return made
