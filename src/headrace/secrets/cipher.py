"""Sealing and opening: AES-256-GCM, bound to the subscription, so that a row can't be moved to another one."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from headrace.errors import SecretsLocked

if TYPE_CHECKING:
    from headrace.secrets.keys import Key, KeyRing

_NONCE = 12


def seal(key: Key, subscription_id: str, content: bytes) -> bytes:
    """Encrypt; every call gives other bytes."""
    nonce = secrets.token_bytes(_NONCE)
    return nonce + AESGCM(key.value).encrypt(nonce, content, _bound_to(subscription_id))


def unseal(ring: KeyRing, where: str, key_id: str, subscription_id: str, sealed: bytes) -> bytes:
    """Decrypt with the key of this id. SecretsLocked where it isn't there, or the bytes are not what was sealed."""
    key = next((each for each in ring if each.id == key_id), None)
    if key is None:
        raise SecretsLocked(
            f"the secrets of subscription {subscription_id} are sealed with the key {key_id}, which is not in {where}; "
            "restore it there"
        )
    try:
        return AESGCM(key.value).decrypt(sealed[:_NONCE], sealed[_NONCE:], _bound_to(subscription_id))
    except (InvalidTag, ValueError):
        raise SecretsLocked(
            f"the sealed secrets of subscription {subscription_id} were damaged, or belong to another one; "
            "give the subscription's secrets anew"
        ) from None


def _bound_to(subscription_id: str) -> bytes:
    return b"headrace secrets 1 " + subscription_id.encode()
