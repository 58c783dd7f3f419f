"""Deliveries to channels of this deployment itself: replies, dead letters and subscribers that are channels.

Where producers have to say who they are, the dispatcher is a producer too. It makes a key of its own, which is in its
memory alone, and shows it to channels of the subscription's own namespace: nobody sends into another's by naming
its address as a sink.
"""

from __future__ import annotations

import asyncio
import logging
import os
import re
import socket
import time
from typing import TYPE_CHECKING

from headrace.auth.audit.entries import HERE, AuditEntry
from headrace.auth.keys.requests import KeyRequest
from headrace.auth.roles import EVERYWHERE, Role
from headrace.errors import HeadraceError
from headrace.secrets.credential import Token

if TYPE_CHECKING:
    from headrace.auth.keys.store import KeyStore
    from headrace.subscriptions.subscription import Subscription

_log = logging.getLogger(__name__)
_LIFE_SECONDS = 86_400.0
_LOOK_SECONDS = 60.0
# Nothing that leads on from there: no dots, no query.
_NAME = re.compile(r"[-a-z0-9]+")


class LocalChannels:
    """For one event loop. `address` is where this deployment's channels are reached, without a slash at its end."""

    def __init__(self, address: str, keys: KeyStore) -> None:
        self._channels = f"{address}/channels/"
        self._keys = keys
        self._who = f"dispatcher:{os.getpid()}@{socket.gethostname()}"
        self._key_id: str | None = None
        self._token: Token | None = None

    def token_for(self, subscription: Subscription, uri: str) -> Token | None:
        """Return what to show at an address: only channels of the subscription's namespace count."""
        address, _, name = uri.rstrip("/").rpartition("/")
        is_local = address == f"{self._channels}{subscription.channel.namespace}" and _NAME.fullmatch(name)
        return self._token if is_local else None

    def is_own(self, credential: object) -> bool:
        """Tell whether a credential is, or was, the dispatcher's: one that isn't known everywhere yet soon is."""
        return self._token is not None and credential is self._token

    async def open(self) -> None:
        """Make the key."""
        await asyncio.to_thread(self._renew)

    async def follow(self) -> None:
        """Make another one in time, for ever."""
        while True:
            await asyncio.sleep(_LOOK_SECONDS)
            if self._token is None or self._token.expires - time.time() < _LIFE_SECONDS / 2:
                try:
                    await asyncio.to_thread(self._renew)
                except HeadraceError as error:
                    _log.warning("the dispatcher's own key is renewed later: %s", error)

    def close(self) -> None:
        """Let the key be good no more."""
        if self._key_id is not None:
            try:
                self._keys.revoke(self._key_id, self._entry("revoke", self._key_id))
            except HeadraceError as error:
                _log.warning("the dispatcher's own key ends by itself within a day: %s", error)

    def _renew(self) -> None:
        wanted = KeyRequest(self._who, {EVERYWHERE: frozenset({Role.PUBLISH})}, time.time() + _LIFE_SECONDS)
        key, record = wanted.make(self._who, time.time())
        self._keys.add(record, self._entry("create", key.id))
        self._key_id, self._token = key.id, Token("Bearer", key.text, time.time() + _LIFE_SECONDS)

    def _entry(self, action: str, key_id: str) -> AuditEntry:
        return AuditEntry(self._who, HERE, f"keys {action}", "key", key_id)
