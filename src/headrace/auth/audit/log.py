"""The audit log in the store's database, and drafts of entries whose outcome isn't known yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.auth.audit import entries as audit
from headrace.auth.tables import FAMILY
from headrace.database.engine import open_database
from headrace.database.patience import once, repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import URL, Connection

    from headrace.auth.audit.entries import AuditEntry, AuditQuery


class AuditDraft:
    """The entries of one change. `entries` returns them as known so far; `numbers` are those of the rows, once written.

    A row that stays a draft has no outcome: the service stopped before it answered.
    """

    def __init__(self, entries: Callable[[], Sequence[AuditEntry]]) -> None:
        self._entries = entries
        self.numbers: Sequence[int] = ()

    @property
    def is_written(self) -> bool:
        """Whether rows were written; their transaction may still fail."""
        return bool(self.numbers)

    def write(self, connection: Connection) -> None:
        """Write the entries, in the transaction of the connection."""
        self.numbers = audit.write(connection, self._entries())

    def completed(self, entries: Sequence[AuditEntry]) -> list[tuple[int | None, AuditEntry]]:
        """Return the final entries, each with the number of the row that it replaces, if any."""
        known: list[int | None] = [*self.numbers, *[None] * len(entries)]
        return list(zip(known, entries, strict=False))


class AuditLog:
    """Threads and processes may share the database. Its calls block, so an event loop makes them in a thread."""

    def __init__(self, url: str, patience: float = 0.0) -> None:
        """Open it. `patience` is for how many seconds a call retries after a lost connection or a lock."""
        self.patience = patience
        self._engine = open_database(url, FAMILY, patience)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @property
    def url(self) -> URL:
        """The URL of the database."""
        return self._engine.url

    @once
    def draft(self, draft: AuditDraft) -> None:
        """Write entries before their change is made."""
        with self._engine.begin() as connection:
            draft.write(connection)

    @once
    def complete(self, completed: Sequence[tuple[int | None, AuditEntry]]) -> None:
        """Write entries, each in place of the row with its number, if that exists."""
        with self._engine.begin() as connection:
            for number, entry in completed:
                if number is None or not audit.rewrite(connection, number, entry):
                    audit.write(connection, [entry])

    @repeatable
    def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Return entries, the newest first."""
        with self._engine.connect() as connection:
            return audit.find(connection, query)

    @repeatable
    def prune(self, retention_seconds: float) -> int:
        """Delete older entries; return their number."""
        before, deleted = time.time() - retention_seconds, 0
        while True:
            with self._engine.begin() as connection:
                some = audit.prune(connection, before)
            deleted += some
            if not some:
                return deleted
