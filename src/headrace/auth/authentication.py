"""From the headers of a request to its principal."""

from __future__ import annotations

from typing import TYPE_CHECKING

from headrace.auth.keys.key import PREFIX
from headrace.errors import Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.auth.keys.ring import KeyRing
    from headrace.auth.principal import Principal
    from headrace.auth.tokens.token import Tokens

_SCHEME = "bearer"


class Authentication:
    """By API key or token. For one event loop."""

    def __init__(self, ring: KeyRing, tokens: Tokens) -> None:
        self._ring = ring
        self._tokens = tokens

    async def principal(self, headers: Iterable[tuple[bytes, bytes]]) -> Principal:
        """Return the principal, or raise Unauthenticated. Only a new token takes more than a look into memory."""
        credential = credential_of(headers)
        if credential.startswith(PREFIX):
            return self._ring.holder(credential)
        return self._tokens.remembered(credential) or await self._tokens.holder(credential)


def credential_of(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the credential of the one `Authorization: Bearer …` header."""
    given = [value for name, value in headers if name == b"authorization"]
    if not given:
        raise Unauthenticated
    scheme, _, credential = given[0].decode("latin-1").partition(" ")
    if len(given) > 1 or scheme.lower() != _SCHEME or not credential.strip():
        raise Unauthenticated("there has to be one Authorization header of the scheme Bearer")
    return credential.strip()
