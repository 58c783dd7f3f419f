"""The API keys in memory, so that requests need no query."""

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
# How often the last use of keys is stored, whatever the traffic.
_NOTE_SECONDS = 60.0
_NO_DIGEST = bytes(32)


class KeyRing:
    """A copy of the keys. For one event loop; changes by other processes arrive with `follow`.

    `admin_keys` come from the configuration: they grant everything for as long as they are configured.
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
        """Return the holder of a key, or raise Unauthenticated; only who has the key learns why it is invalid."""
        key = read_key(text)
        if key is None:
            raise Unauthenticated("this is not an API key, or it was mistyped")
        record, digest = self._keys.get(key.id), key.digest
        if hmac.compare_digest(self._configured.get(key.id, _NO_DIGEST), digest):
            return Principal(f"key:{key.id}", {EVERYWHERE: frozenset({Role.ADMIN})})
        if not hmac.compare_digest(_NO_DIGEST if record is None else record.digest, digest) or record is None:
            raise Unauthenticated("this API key is unknown")
        now = time.time()
        if problem := record.problem(now):
            raise Unauthenticated(f"API key {key.id} {problem}")
        self._used[key.id] = now
        return record.principal

    async def refresh(self) -> None:
        """Read the changes since the last time."""
        self._revision, records = await asyncio.to_thread(self._store.changes, self._revision)
        self._take(records)

    async def follow(self, seconds: float) -> None:
        """Keep up with the store, for ever. While it is lost, the last known keys are used."""
        while True:
            await asyncio.sleep(seconds)
            try:
                await self.refresh()
                if time.time() - self._noted > _NOTE_SECONDS:
                    await self.note_used()
            except StoreUnavailable as error:
                _log.warning("the last known API keys are used: %s", error)

    async def note_used(self) -> None:
        """Store which keys were used since the last time."""
        used, self._used, self._noted = self._used, {}, time.time()
        if used:
            await asyncio.to_thread(self._store.note_used, used)

    async def close(self) -> None:
        """Store the last uses, if the store is available."""
        with suppress(StoreUnavailable):
            await self.note_used()

    def _take(self, records: Sequence[KeyRecord]) -> None:
        self._keys |= {record.id: record for record in records}


def _configured(text: str) -> tuple[str, bytes]:
    key = read_key(text)
    if key is None:
        raise ConfigError("auth.admin_keys has a text that is not an API key; `headrace keys new` makes one")
    return key.id, key.digest
