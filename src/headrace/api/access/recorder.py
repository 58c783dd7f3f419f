"""Writing audit entries; those of concurrent requests share a transaction."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from headrace.auth.audit.entries import AuditEntry
    from headrace.auth.audit.log import AuditDraft, AuditLog

_log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0


class Recorder:
    """For one event loop."""

    def __init__(self, log: AuditLog) -> None:
        self._audit = log
        self._waiting: list[tuple[int | None, AuditEntry]] = []
        self._writing = asyncio.Lock()

    async def draft(self, draft: AuditDraft) -> None:
        """Write a draft before a change of something that is not in the store."""
        await asyncio.shield(asyncio.to_thread(self._audit.draft, draft))

    async def complete(self, draft: AuditDraft, entries: Sequence[AuditEntry]) -> None:
        """Record the outcome of a change; it is durable when this returns.

        If the database is lost meanwhile, the change was still made: then its entry goes to the process's log.
        """
        mine = draft.completed(entries)
        self._waiting += mine
        async with self._writing:
            if not any(each is mine[0] for each in self._waiting):
                return  # the request before wrote them too
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.shield(asyncio.to_thread(self._audit.complete, batch))
            except StoreUnavailable as error:
                for _, entry in batch:
                    _log.error(
                        "the outcome of a change could not be recorded (%s): %s", error, entry.document()
                    )

    async def forget(self, retention_seconds: float) -> None:
        """Delete old entries every hour, for ever."""
        while True:
            try:
                await asyncio.to_thread(self._audit.prune, retention_seconds)
            except StoreUnavailable as error:
                _log.warning("old entries of the audit log are deleted later: %s", error)
            await asyncio.sleep(_PRUNE_SECONDS)
