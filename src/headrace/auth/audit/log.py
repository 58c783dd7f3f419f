"""The audit log in the store's database, and drafts of entries whose outcome isn't known yet."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.auth.audit import entries as audit
from headrace.auth.tables import FAMILY
from headrace.database.companion import Companion
from headrace.database.patience import once, repeatable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy import Connection

    from headrace.auth.audit.entries import AuditEntry, AuditQuery
    from headrace.database.database import Database


class AuditDraft(Companion):
    """The entries of one change, written in its transaction. `numbers` are those of the rows, once written.

    `entries` returns them as known so far, given what the change creates: `makes`, where that is known beforehand.
    A row that stays a draft has no outcome: the service stopped before it answered.
    """

    def __init__(self, entries: Callable[[str], Sequence[AuditEntry]]) -> None:
        super().__init__(self._write)
        self._entries = entries
        self.makes = ""
        self.numbers: Sequence[int] = ()

    @property
    def is_written(self) -> bool:
        """Whether rows were written; their transaction may still fail."""
        return bool(self.numbers)

    def _write(self, connection: Connection) -> None:
        self.numbers = audit.write(connection, self._entries(self.makes))

    def completed(self, entries: Sequence[AuditEntry]) -> list[tuple[int | None, AuditEntry]]:
        """Return the final entries, each with the number of the row that it replaces, if any."""
        known: list[int | None] = [*self.numbers, *[None] * len(entries)]
        return list(zip(known, entries, strict=False))


class AuditLog:
    """Threads and processes may share the database. Its calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)

    @once
    def draft(self, draft: AuditDraft) -> None:
        """Write entries before their change is made."""
        with self.database.writing(draft):
            pass

    @once
    def complete(self, completed: Sequence[tuple[int | None, AuditEntry]]) -> None:
        """Write entries, each in place of the row with its number, if that exists."""
        with self.database.writing() as connection:
            for number, entry in completed:
                if number is None or not audit.rewrite(connection, number, entry):
                    audit.write(connection, [entry])

    @repeatable
    def find(self, query: AuditQuery) -> list[AuditEntry]:
        """Return entries, the newest first."""
        with self.database.reading() as connection:
            return audit.find(connection, query)

    @repeatable
    def prune(self, retention_seconds: float) -> int:
        """Delete older entries; return their number."""
        before, deleted = time.time() - retention_seconds, 0
        while True:
            with self.database.writing() as connection:
                some = audit.prune(connection, before)
            deleted += some
            if not some:
                return deleted
