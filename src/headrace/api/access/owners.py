"""The namespaces of subscriptions, copied to the ledger so that it can narrow its lists by namespace."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from headrace.ledger.records.records import Records
    from headrace.subscriptions.store.store import Store

_log = logging.getLogger(__name__)
_FORGET_EVERY = 3600


class SubscriptionOwners:
    """Copies them. For one event loop; several processes may do the same."""

    def __init__(self, store: Store, records: Records) -> None:
        self._store = store
        self._records = records
        self._revision = -1
        self._copying = asyncio.Lock()

    async def refresh(self) -> None:
        """Copy what is new since the last time."""
        async with self._copying:
            await asyncio.to_thread(self._copy)

    async def follow(self, seconds: float) -> None:
        """Keep the ledger up to date, for ever: a subscription may be deleted by the time somebody asks."""
        rounds = 0
        while True:
            try:
                await self.refresh()
                if rounds % _FORGET_EVERY == 0:
                    await asyncio.to_thread(self._forget)
                rounds += 1
            except StoreUnavailable as error:
                _log.warning(
                    "the owners of the newest subscriptions are copied to the ledger later: %s", error
                )
            await asyncio.sleep(seconds)

    def _copy(self) -> None:
        revision, pairs = self._store.owners(self._revision)
        if pairs:
            self._records.note_owners(pairs)
        self._revision = revision

    def _forget(self) -> None:
        known = self._records.known_owners()
        self._records.forget_owners(known - self._store.ids())
