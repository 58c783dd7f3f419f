"""Signatures of Standard Webhooks: a receiver can tell who sent a request, when, and that nothing was altered.

Signed is `id.timestamp.body`. The id is the same whenever the same event is sent to the same subscription, so that a
receiver can use it to drop repetitions; the timestamp is that of the attempt. With several keys there are several
signatures, so that keys can be exchanged without a gap.
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from functools import lru_cache
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from headrace.delivery.attempt.payload import Payload

_HMAC, _ED25519, _PUBLIC = "whsec_", "whsk_", "whpk_"
_SEED_BYTES = 32
_TOLERANCE_SECONDS = 300


def message_id(owner: str, payloads: Sequence[Payload]) -> str:
    """Return the id of what is sent: of one event, or of a batch of just these."""
    digest = hashlib.blake2b(owner.encode(), digest_size=16)
    for payload in payloads:
        event = payload.recorded.arrival.event
        digest.update(f"\0{payload.recorded.position}\0{event.source}\0{event.id}".encode())
    return "msg_" + digest.hexdigest()


def signature_headers(
    keys: Sequence[str], message: str, timestamp: float, body: bytes
) -> list[tuple[str, str]]:
    """Sign a body with every key; ValueError, which shows no key, if one is none."""
    at = str(int(timestamp))
    content = f"{message}.{at}.".encode() + body
    signatures = " ".join(_signer(key)(content) for key in keys)
    return [("webhook-id", message), ("webhook-timestamp", at), ("webhook-signature", signatures)]


def signature_problem(key: str, headers: Mapping[str, str], body: bytes, now: float) -> str | None:
    """Tell why a receiver should not trust a request; None if it is signed with this `whsec_` or `whpk_` key.

    Names of headers are taken in lower case, or from a mapping that doesn't mind.
    """
    values = [headers.get(name) for name in ("webhook-id", "webhook-timestamp", "webhook-signature")]
    message, at, signatures = values
    if message is None or at is None or signatures is None:
        return "it is not signed: webhook-id, webhook-timestamp and webhook-signature are needed"
    if not (at.isascii() and at.isdigit()) or abs(now - int(at)) > _TOLERANCE_SECONDS:
        return f"webhook-timestamp {at[:20]!r} is not within {_TOLERANCE_SECONDS} s of now"
    content = f"{message}.{at}.".encode() + body
    verifies = verifier(key)
    if not any(verifies(content, each) for each in signatures.split(" ")):
        return "none of its signatures was made with this key"
    return None


def verifier(key: str) -> Callable[[bytes, str], bool]:
    """Return what tells whether a content has this signature; ValueError if the key is none."""
    if key.startswith(_HMAC):
        sign = _signer(key)
        return lambda content, signature: hmac.compare_digest(sign(content).encode(), signature.encode())
    if not key.startswith(_PUBLIC):
        raise ValueError(f"a key that verifies begins with {_HMAC} or {_PUBLIC}")
    public = Ed25519PublicKey.from_public_bytes(_decoded(key, _PUBLIC))

    def verify(content: bytes, signature: str) -> bool:
        version, _, encoded = signature.partition(",")
        try:
            public.verify(base64.b64decode(encoded), content)
        except (InvalidSignature, ValueError):
            return False
        return version == "v1a"

    return verify


@lru_cache(maxsize=4096)
def _signer(key: str) -> Callable[[bytes], str]:
    if key.startswith(_HMAC):
        secret = _decoded(key, _HMAC)
        return lambda content: _written("v1", hmac.digest(secret, content, "sha256"))
    if key.startswith(_ED25519):
        # The private key alone, or with the public key behind it.
        private = Ed25519PrivateKey.from_private_bytes(_decoded(key, _ED25519)[:_SEED_BYTES])
        return lambda content: _written("v1a", private.sign(content))
    raise ValueError(f"a signing key begins with {_HMAC} or {_ED25519}")


def _decoded(key: str, prefix: str) -> bytes:
    try:
        return base64.b64decode(key.removeprefix(prefix), validate=True)
    except ValueError:
        raise ValueError(f"a signing key is {prefix} and base64; this one isn't") from None


def _written(version: str, signature: bytes) -> str:
    return f"{version},{base64.b64encode(signature).decode()}"
