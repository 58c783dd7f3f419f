"""Writing changes down, those of requests that come together in one transaction."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from headrace.auth.audit import Entry
    from headrace.auth.audit_log import AuditLog

_log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0


class Recorder:
    """For one event loop."""

    def __init__(self, log: AuditLog) -> None:
        self._audit = log
        self._waiting: list[Entry] = []
        self._writing = asyncio.Lock()

    async def record(self, entries: Iterable[Entry]) -> None:
        """Write entries down; they are durable when this returns.

        Where the database is lost meanwhile, the change was made all the same: then they go to the process's log.
        """
        mine = list(entries)
        self._waiting += mine
        async with self._writing:
            if not any(each is mine[0] for each in self._waiting):
                return  # somebody who was here before wrote them too
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.shield(asyncio.to_thread(self._audit.add, batch))
            except StoreUnavailable as error:
                for entry in batch:
                    _log.error("a change could not be recorded (%s): %s", error, entry.document())

    async def forget(self, retention_seconds: float) -> None:
        """Forget what is old, again and again, for ever."""
        while True:
            try:
                await asyncio.to_thread(self._audit.prune, retention_seconds)
            except StoreUnavailable as error:
                _log.warning("old entries of the record of changes are removed later: %s", error)
            await asyncio.sleep(_PRUNE_SECONDS)
