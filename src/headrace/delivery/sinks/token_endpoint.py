"""Trading a refresh token for an access token (RFC 6749, section 6), through the guard.

The endpoint was named by a stranger, and what it answers is not repeated: it might be the token that it was sent.
"""

from __future__ import annotations

import math
import re
import socket
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import aiohttp
import msgspec

from headrace.delivery.sinks.networks import parse_address, rule_against
from headrace.errors import RefreshFailed, RefusedAddress
from headrace.secrets.credential import Refreshable, Token

if TYPE_CHECKING:
    import ssl

    from headrace.delivery.sinks.guard import Guard

_MOST_BYTES = 65_536
_UNSAID_SECONDS = 300.0
_LONGEST_SECONDS = 10 * 365 * 86_400.0
_TOKEN = re.compile(r"[\x21-\x7e]{1,16384}")
_TYPE = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,64}")
# The codes of the specification: asking again with the same token gives the same answer.
_FINAL = {
    "invalid_request",
    "invalid_client",
    "invalid_grant",
    "unauthorized_client",
    "unsupported_grant_type",
    "invalid_scope",
}


@dataclass(frozen=True, slots=True)
class Refreshed:
    """A credential to go on with, and for how many seconds its token was said to live."""

    credential: Refreshable = field(repr=False)
    lifetime: float


class TokenEndpoint:
    """For one event loop. Refreshes are rare: each has a connection of its own."""

    def __init__(self, guard: Guard, tls: ssl.SSLContext | None = None, timeout: float = 10.0) -> None:
        self._guard = guard
        self._tls: ssl.SSLContext | bool = True if tls is None else tls
        self._timeout = timeout

    async def refresh(self, credential: Refreshable) -> Refreshed:
        """Return the next credential, or raise RefreshFailed."""
        asked = time.time()
        try:
            status, body = await self._ask(credential)
        except TimeoutError:
            raise RefreshFailed(f"the token endpoint didn't answer within {self._timeout:g} s") from None
        except RefusedAddress as error:
            raise RefreshFailed(
                f"the token endpoint can't be used: {error}", is_final=error.literal
            ) from None
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise RefreshFailed(f"the token endpoint can't be reached: {type(error).__name__}") from None
        document = _read(body)
        if status != 200:
            raise _failure(status, document)
        return _refreshed(credential, document, asked)

    async def _ask(self, credential: Refreshable) -> tuple[int, bytes]:
        is_plain = credential.endpoint.lower().startswith("http:")
        connector = aiohttp.TCPConnector(
            # Asked for every connection, names and addresses alike, with the address that is connected to.
            socket_factory=lambda info: self._socket(info, is_plain=is_plain),
            ssl=self._tls,
            force_close=True,
        )
        form = {"grant_type": "refresh_token", "refresh_token": credential.refresh_token}
        async with (
            aiohttp.ClientSession(
                connector=connector,
                cookie_jar=aiohttp.DummyCookieJar(),
                trust_env=False,
                timeout=aiohttp.ClientTimeout(total=self._timeout),
            ) as session,
            session.post(
                credential.endpoint,
                data=form,
                headers={"accept": "application/json"},
                allow_redirects=False,
            ) as response,
        ):
            body = b""
            async for part in response.content.iter_any():
                body += part
                if len(body) > _MOST_BYTES:
                    raise RefreshFailed(f"the token endpoint answered with more than {_MOST_BYTES} bytes")
            return response.status, body

    def _socket(self, info: tuple[Any, ...], *, is_plain: bool) -> socket.socket:
        family, kind, protocol, _, sockaddr = info
        self._guard.check(sockaddr[0])
        if is_plain and rule_against(parse_address(sockaddr[0])) is None:
            raise RefreshFailed(
                "a refresh token is not sent over plain HTTP to a public address; use https", is_final=True
            )
        return socket.socket(family, kind, protocol)


def _read(body: bytes) -> dict[str, Any]:
    try:
        document = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}


def _failure(status: int, document: dict[str, Any]) -> RefreshFailed:
    error = document.get("error")
    if isinstance(error, str) and error in _FINAL and 400 <= status < 500:
        return RefreshFailed(
            f"the token endpoint refused the refresh token ({error}): give the subscription a new credential",
            is_final=True,
        )
    return RefreshFailed(f"the token endpoint answered with status {status}")


def _refreshed(credential: Refreshable, document: dict[str, Any], asked: float) -> Refreshed:
    value, kind = document.get("access_token"), document.get("token_type", credential.token.type)
    next_one = document.get("refresh_token", credential.refresh_token)
    lifetime = _lifetime(document.get("expires_in", _UNSAID_SECONDS))
    for name, each, form in (
        ("access_token", value, _TOKEN),
        ("token_type", kind, _TYPE),
        ("refresh_token", next_one, _TOKEN),
    ):
        if not isinstance(each, str) or not form.fullmatch(each):
            raise RefreshFailed(f"the token endpoint answered without a usable {name}")
    token = Token(str(kind), str(value), asked + lifetime)
    return Refreshed(Refreshable(token, str(next_one), credential.endpoint), lifetime)


def _lifetime(value: Any) -> float:
    """Read the seconds; some servers write them as a text, and some more of them than a number holds."""
    try:
        seconds = float(value)
    except OverflowError:
        seconds = math.inf if value > 0 else math.nan
    except (TypeError, ValueError):
        seconds = math.nan
    if not seconds > 0:
        raise RefreshFailed("the token endpoint answered without a usable expires_in")
    return min(seconds, _LONGEST_SECONDS)
