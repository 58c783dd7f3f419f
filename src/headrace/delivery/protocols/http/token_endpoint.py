"""Trading a refresh token for an access token (RFC 6749, section 6), by the same way as deliveries.

The endpoint was named by a stranger, and what it answers is not repeated: it might be the token that it was sent.
"""

from __future__ import annotations

import asyncio
import math
import re
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlencode

import msgspec

from headrace.delivery.protocols.http.http1 import Http1
from headrace.delivery.protocols.http.requests import Request
from headrace.delivery.sinks.tls import tls_context
from headrace.errors import RefreshFailed, RefusedAddress
from headrace.secrets.credential import Refreshable, Token

if TYPE_CHECKING:
    import socket
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
        self._tls = tls or tls_context()
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
        except (OSError, ValueError) as error:
            raise RefreshFailed(f"the token endpoint can't be reached: {type(error).__name__}") from None
        document = _read(body)
        if status != 200:
            raise _failure(status, document)
        return _refreshed(credential, document, asked)

    async def _ask(self, credential: Refreshable) -> tuple[int, bytes]:
        is_plain = credential.endpoint.lower().startswith("http:")
        http = Http1(_NotInPublic(self._guard) if is_plain else self._guard, self._tls)
        form = {"grant_type": "refresh_token", "refresh_token": credential.refresh_token}
        headers = [("accept", "application/json"), ("content-type", "application/x-www-form-urlencoded")]
        request = Request("POST", credential.endpoint, headers, urlencode(form).encode())
        deadline = asyncio.get_running_loop().time() + self._timeout
        try:
            answer = await http.exchange(request, _MOST_BYTES, deadline)
        finally:
            await http.close()
        if len(answer.body) > _MOST_BYTES:
            raise RefreshFailed(f"the token endpoint answered with more than {_MOST_BYTES} bytes")
        if not answer.whole:
            raise ConnectionError
        return answer.status, answer.body


class _NotInPublic:
    """Connects where nobody but an operator's own network can listen."""

    def __init__(self, guard: Guard) -> None:
        self._guard = guard

    async def connect(self, host: str, port: int, timeout: float) -> socket.socket:  # noqa: ASYNC109
        made = await self._guard.connect(host, port, timeout)
        if self._guard.is_public(made.getpeername()[0]):
            made.close()
            raise RefreshFailed(
                "a refresh token is not sent over plain HTTP to a public address; use https", is_final=True
            )
        return made


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
