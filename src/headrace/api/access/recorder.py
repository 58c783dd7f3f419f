"""Writing changes down, those of requests that come together in one transaction."""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from headrace.database.alongside import alongside
from headrace.errors import StoreUnavailable

if TYPE_CHECKING:
    from collections.abc import Sequence
    from contextlib import AbstractContextManager

    from headrace.auth.audit.entries import Entry
    from headrace.auth.audit.log import AuditLog
    from headrace.auth.audit.pending import Draft

_log = logging.getLogger(__name__)
_PRUNE_SECONDS = 3600.0


class Recorder:
    """For one event loop."""

    def __init__(self, log: AuditLog) -> None:
        self._audit = log
        self._waiting: list[tuple[int | None, Entry]] = []
        self._writing = asyncio.Lock()

    def alongside(self, draft: Draft) -> AbstractContextManager[None]:
        """Let a draft be written in the transaction of the change that the calls in here make in the store."""
        return alongside(self._audit.url, draft.write)

    async def draft(self, draft: Draft) -> None:
        """Write a draft down before a change of something that is not in the store."""
        await asyncio.shield(asyncio.to_thread(self._audit.draft, draft))

    async def complete(self, draft: Draft, entries: Sequence[Entry]) -> None:
        """Write down what came of a change; it is durable when this returns.

        Where the database is lost meanwhile, the change was made all the same: then it goes to the process's log, too.
        """
        mine = draft.completed(entries)
        self._waiting += mine
        async with self._writing:
            if not any(each is mine[0] for each in self._waiting):
                return  # somebody who was here before wrote them too
            batch, self._waiting = self._waiting, []
            try:
                await asyncio.shield(asyncio.to_thread(self._audit.complete, batch))
            except StoreUnavailable as error:
                for _, entry in batch:
                    _log.error(
                        "what came of a change could not be recorded (%s): %s", error, entry.document()
                    )

    async def forget(self, retention_seconds: float) -> None:
        """Forget what is old, again and again, for ever."""
        while True:
            try:
                await asyncio.to_thread(self._audit.prune, retention_seconds)
            except StoreUnavailable as error:
                _log.warning("old entries of the record of changes are removed later: %s", error)
            await asyncio.sleep(_PRUNE_SECONDS)
