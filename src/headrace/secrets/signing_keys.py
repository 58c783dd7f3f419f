"""Keys that sign requests, as Standard Webhooks writes them.

`whsec_` and the base64 of 24 to 64 bytes is a shared secret (HMAC-SHA256). `whsk_` and the base64 of an Ed25519
private key, its seed alone or with the public key behind it, signs what whoever has the public key, `whpk_`, verifies.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import secrets
from typing import TYPE_CHECKING, Any

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

if TYPE_CHECKING:
    from collections.abc import Iterator

HMAC, ED25519 = "whsec_", "whsk_"
GENERATE, GENERATE_ED25519 = "generate", "generate-ed25519"
_PUBLIC = "whpk_"
_MOST_KEYS = 10
_SEED = 32
_QUAD = "[A-Za-z0-9+/]{4}"
_ENDS = "[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{2}=="
SIGNING: dict[str, Any] = {
    "anyOf": [
        {"enum": [GENERATE, GENERATE_ED25519]},
        {
            "type": "array",
            "minItems": 1,
            "maxItems": _MOST_KEYS,
            "items": {
                "type": "string",
                "pattern": f"^(?:{HMAC}(?:(?:{_QUAD}){{8,20}}(?:{_ENDS})?|(?:{_QUAD}){{21}}(?:[A-Za-z0-9+/]{{2}}==)?)"
                f"|{ED25519}(?:(?:{_QUAD}){{10}}[A-Za-z0-9+/]{{3}}=|(?:{_QUAD}){{21}}[A-Za-z0-9+/]{{2}}==))$",
            },
        },
    ]
}
"""The same as JSON Schema, which can't tell whether a public key belongs to its private key."""
_NO_KEY = (
    f"is neither {HMAC} and the base64 of 24 to 64 bytes, nor {ED25519} and the base64 of an Ed25519 private key "
    "(32 bytes, or 64 with its public key)"
)
_SHOWN_KEY = "is what is shown of a key; give the secret itself"
_WANTED = f'give "{GENERATE}", "{GENERATE_ED25519}", or a list of 1 to {_MOST_KEYS} keys, the newest first'


def check_signing(value: Any) -> Iterator[tuple[str, str]]:
    """Yield what is wrong, with the path below the setting; no problem repeats a key."""
    if value in (GENERATE, GENERATE_ED25519):
        return
    if not isinstance(value, list) or not 1 <= len(value) <= _MOST_KEYS:
        yield "", _WANTED
        return
    for index, key in enumerate(value):
        if isinstance(key, dict):
            yield f"[{index}]", _SHOWN_KEY
        elif not isinstance(key, str) or _bytes_of(key) is None:
            yield f"[{index}]", _NO_KEY


def keys_of(value: str | list[str]) -> tuple[str, ...]:
    """Return the keys in their normal form; what is to be generated is generated."""
    if value == GENERATE:
        return (_write(HMAC, secrets.token_bytes(_SEED)),)
    if value == GENERATE_ED25519:
        return (_write(ED25519, secrets.token_bytes(_SEED)),)
    return tuple(_normal(key) for key in value)


def describe(key: str) -> dict[str, str]:
    """Return what may be shown of a key: enough to tell it from others, and to verify where that is no secret."""
    content = _bytes_of(key) or b""
    mark = hashlib.sha256(content).hexdigest()[:8]
    if key.startswith(HMAC):
        return {"kind": "hmac", "id": mark}
    public = Ed25519PrivateKey.from_private_bytes(content[:_SEED]).public_key().public_bytes_raw()
    return {"kind": "ed25519", "id": mark, "publicKey": _write(_PUBLIC, public)}


def _normal(key: str) -> str:
    prefix = HMAC if key.startswith(HMAC) else ED25519
    content = _bytes_of(key) or b""
    return _write(prefix, content if prefix == HMAC else content[:_SEED])


def _write(prefix: str, content: bytes) -> str:
    return prefix + base64.b64encode(content).decode()


def _bytes_of(key: str) -> bytes | None:
    """Return the key's bytes; None if it is no key."""
    prefix, mark, encoded = key.partition("_")
    try:
        content = base64.b64decode(encoded, validate=True)
    except (binascii.Error, ValueError):
        return None
    if prefix + mark == HMAC:
        return content if 24 <= len(content) <= 64 else None
    if prefix + mark == ED25519:
        return content if _is_ed25519(content) else None
    return None


def _is_ed25519(content: bytes) -> bool:
    if len(content) == _SEED:
        return True
    if len(content) != 2 * _SEED:
        return False
    private = Ed25519PrivateKey.from_private_bytes(content[:_SEED])
    return private.public_key().public_bytes_raw() == content[_SEED:]
