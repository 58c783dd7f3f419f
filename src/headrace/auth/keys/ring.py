"""The API keys, known without asking the database for each request."""

from __future__ import annotations

import asyncio
import hmac
import logging
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.auth.keys.key import read_key
from headrace.auth.principal import Principal
from headrace.auth.roles import EVERYWHERE, Role
from headrace.errors import ConfigError, StoreUnavailable, Unauthenticated

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.auth.keys.record import KeyRecord
    from headrace.auth.keys.store import KeyStore

_log = logging.getLogger(__name__)
# How often it is written down when keys were used: once in a while, whatever the traffic.
_NOTE_SECONDS = 60.0
_NO_DIGEST = bytes(32)


class KeyRing:
    """A copy of the keys. For one event loop; what other processes make and revoke arrives with `follow`.

    `admin_keys` come from the configuration: they may do everything, and are good for as long as they stand there.
    """

    def __init__(self, store: KeyStore, admin_keys: Sequence[str] = ()) -> None:
        self._store = store
        self._configured = dict(map(_configured, admin_keys))
        self._used: dict[str, float] = {}
        self._noted = time.time()
        self._keys: dict[str, KeyRecord] = {}
        self._revision, records = store.changes(-1)
        self._take(records)

    def holder(self, text: str) -> Principal:
        """Return who holds a key, or raise Unauthenticated; what is wrong is told to those alone who have the key."""
        key = read_key(text)
        if key is None:
            raise Unauthenticated("this is no API key, or one that was mistyped")
        record, digest = self._keys.get(key.id), key.digest
        if hmac.compare_digest(self._configured.get(key.id, _NO_DIGEST), digest):
            return Principal(f"key:{key.id}", {EVERYWHERE: frozenset({Role.ADMIN})})
        if not hmac.compare_digest(_NO_DIGEST if record is None else record.digest, digest) or record is None:
            raise Unauthenticated("no such API key is known")
        now = time.time()
        if problem := record.problem(now):
            raise Unauthenticated(f"API key {key.id} {problem}")
        self._used[key.id] = now
        return record.principal

    async def refresh(self) -> None:
        """Learn what changed since the last look."""
        self._revision, records = await asyncio.to_thread(self._store.changes, self._revision)
        self._take(records)

    async def follow(self, seconds: float) -> None:
        """Keep up with the store, for ever. While it is lost, the keys stay as they were known."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.refresh()
                if time.time() - self._noted > _NOTE_SECONDS:
                    await self.note_used()
            except StoreUnavailable as error:
                _log.warning("API keys stay as they were known: %s", error)

    async def note_used(self) -> None:
        """Write down which keys were used since the last time."""
        used, self._used, self._noted = self._used, {}, time.time()
        if used:
            await asyncio.to_thread(self._store.note_used, used)

    async def close(self) -> None:
        """Note what was used last, if that can be."""
        with suppress(StoreUnavailable):
            await self.note_used()

    def _take(self, records: Sequence[KeyRecord]) -> None:
        self._keys |= {record.id: record for record in records}


def _configured(text: str) -> tuple[str, bytes]:
    key = read_key(text)
    if key is None:
        raise ConfigError("auth.admin_keys has a text that is no API key; `headrace keys new` makes one")
    return key.id, key.digest
