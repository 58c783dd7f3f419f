"""A little OpenID provider on a port of this machine: discovery document, rotating keys, and tokens."""

import asyncio
import json
import time
import uuid
from contextlib import asynccontextmanager
from typing import Any

import jwt
from aiohttp import web
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat
from jwt.algorithms import ECAlgorithm, OKPAlgorithm, RSAAlgorithm

AUDIENCE = "headrace"
_MAKERS: dict[str, tuple[Any, Any]] = {
    "RS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "PS256": (lambda: rsa.generate_private_key(65537, 2048), RSAAlgorithm),
    "ES256": (lambda: ec.generate_private_key(ec.SECP256R1()), ECAlgorithm),
    "EdDSA": (ed25519.Ed25519PrivateKey.generate, OKPAlgorithm),
}


class Provider:
    """Its keys by algorithm; `fetches` counts how often they were asked for."""

    def __init__(self) -> None:
        self.url = ""
        self.fetches = 0
        self.status = 200
        self.claimed_issuer: str | None = None
        self._keys: dict[str, tuple[str, Any]] = {}
        for algorithm in _MAKERS:
            self.rotate(algorithm)

    def rotate(self, algorithm: str) -> None:
        make, _ = _MAKERS[algorithm]
        self._keys[algorithm] = uuid.uuid4().hex, make()

    def public_pem(self, algorithm: str) -> bytes:
        key: Any = self._keys[algorithm][1]
        pem: bytes = key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)
        return pem

    def kid(self, algorithm: str) -> str:
        return self._keys[algorithm][0]

    def document(self) -> dict[str, Any]:
        keys = []
        for algorithm, (kid, key) in self._keys.items():
            jwk = json.loads(_MAKERS[algorithm][1].to_jwk(key.public_key()))
            keys.append(jwk | {"kid": kid, "use": "sig", "alg": algorithm})
        return {"keys": keys}

    def token(self, algorithm: str = "RS256", *, headers: dict[str, Any] | None = None, **claims) -> str:
        kid, key = self._keys[algorithm]
        now = time.time()
        whole = {"iss": self.url, "aud": AUDIENCE, "sub": "ada", "iat": now, "exp": now + 60} | claims
        whole = {name: value for name, value in whole.items() if value is not None}
        return jwt.encode(whole, key, algorithm, headers={"kid": kid} | (headers or {}))

    @asynccontextmanager
    async def served(self):
        app = web.Application()
        app.router.add_get("/.well-known/openid-configuration", self._discovery)
        app.router.add_get("/keys", self._serve_keys)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        self.url = f"http://127.0.0.1:{runner.addresses[0][1]}"
        try:
            yield self
        finally:
            await runner.cleanup()

    async def _discovery(self, _):
        return web.json_response(
            {"issuer": self.claimed_issuer or self.url, "jwks_uri": f"{self.url}/keys"}, status=self.status
        )

    async def _serve_keys(self, _):
        self.fetches += 1
        await asyncio.sleep(0)
        return web.json_response(self.document(), status=self.status)
