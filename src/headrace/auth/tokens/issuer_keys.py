"""The public keys of an OpenID provider: fetched by its discovery document, a URL or a file, and again as they rotate.

The address comes from the operator, so unlike a sink's it may be private. Otherwise the rules of sinks hold: no
redirects, bounded answers and times, and TLS, without which a man in the middle could choose the keys; plain HTTP is
allowed only on this machine.
"""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import aiohttp
import jwt
import msgspec

from headrace.auth.exposure import is_loopback
from headrace.errors import IssuerUnavailable, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.auth.settings import Issuer

_SECONDS = 10.0
_MOST_BYTES = 1 << 20
_FRESH_SECONDS = 3600.0
# An unknown key may be new, but made-up keys must not cause a request each time.
_PAUSE_SECONDS = 10.0
_DISCOVERY = "/.well-known/openid-configuration"
_KINDS = {"RS": "RSA", "PS": "RSA", "ES": "EC", "Ed": "OKP"}


class KeySet:
    """The keys of one issuer. For one event loop."""

    def __init__(self, issuer: Issuer, pause_seconds: float = _PAUSE_SECONDS) -> None:
        self._issuer = issuer
        self._pause = pause_seconds
        self._keys: list[Mapping[str, Any]] = []
        self._fetched = self._tried = float("-inf")
        self._problem = "they were not fetched yet"
        self._fetching = asyncio.Lock()

    async def find(self, kid: str | None, algorithm: str) -> jwt.PyJWK:
        """Return the key that a token names; fetch the keys again if they are old or lack it."""
        if time.monotonic() - self._fetched > _FRESH_SECONDS:
            await self._renew()
        found = self._find(kid, algorithm)
        if found is None:
            await self._renew()
            found = self._find(kid, algorithm)
        if found is not None:
            return found
        if not self._keys:
            raise IssuerUnavailable(self._issuer.url, self._problem)
        raise Unauthenticated("the token was signed with a key that its issuer doesn't publish")

    def _find(self, kid: str | None, algorithm: str) -> jwt.PyJWK | None:
        """Choose a key by id; a token without an id is accepted if only one key fits."""
        fitting = [
            key
            for key in self._keys
            if key.get("kty") == _KINDS[algorithm[:2]]
            and key.get("alg", algorithm) == algorithm
            and key.get("use", "sig") == "sig"
            and (kid is None or key.get("kid") == kid)
        ]
        if len(fitting) != 1:
            return None
        try:
            return jwt.PyJWK(dict(fitting[0]), algorithm)
        except jwt.PyJWTError as error:
            raise Unauthenticated("the key that the token was signed with can't be read") from error

    async def _renew(self) -> None:
        """Fetch the keys again, unless that was just tried. Old keys stay valid if that fails."""
        async with self._fetching:
            now = time.monotonic()
            if now - self._tried < self._pause:
                return
            self._tried = now
            try:
                self._keys = await self._get()
                self._fetched = time.monotonic()
            except (OSError, TimeoutError, ValueError, aiohttp.ClientError) as error:
                self._problem = str(error) or type(error).__name__

    async def _get(self) -> list[Mapping[str, Any]]:
        location = self._issuer.jwks
        if location and not location.startswith(("http://", "https://")):
            return _keys_of(_decode(await asyncio.to_thread(Path(location).read_bytes)))
        timeout = aiohttp.ClientTimeout(total=_SECONDS)
        async with aiohttp.ClientSession(timeout=timeout, trust_env=False) as session:
            return _keys_of(_decode(await _read(session, location or await self._discover(session))))

    async def _discover(self, session: aiohttp.ClientSession) -> str:
        document = _decode(await _read(session, self._issuer.url.rstrip("/") + _DISCOVERY))
        if document.get("issuer") != self._issuer.url:
            raise ValueError(f"its discovery document names the issuer {document.get('issuer')!r}")
        return str(document.get("jwks_uri"))


async def _read(session: aiohttp.ClientSession, url: str) -> bytes:
    parts = urlsplit(url)
    if parts.scheme != "https" and not (parts.scheme == "http" and is_loopback(parts.hostname or "")):
        raise ValueError(f"{url} is not https")
    async with session.get(url, allow_redirects=False) as response:
        if response.status != 200:
            raise ValueError(f"{url} answered with status {response.status}")
        content = await response.content.read(_MOST_BYTES + 1)
        while len(content) <= _MOST_BYTES and (more := await response.content.read(_MOST_BYTES)):
            content += more
    if len(content) > _MOST_BYTES:
        raise ValueError(f"{url} answered with more than {_MOST_BYTES} bytes")
    return content


def _decode(content: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(content, type=dict[str, Any])
    except msgspec.DecodeError as error:
        raise ValueError(f"the answer is not a JSON object: {error}") from error


def _keys_of(document: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    keys = document.get("keys")
    if not isinstance(keys, list) or not keys:
        raise ValueError("the answer has no keys")
    return [key for key in keys if isinstance(key, dict)]
