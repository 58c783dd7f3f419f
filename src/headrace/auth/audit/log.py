"""The record of changes, opened."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.auth.audit import entries as audit
from headrace.auth.tables import FAMILY
from headrace.database.engine import open_database
from headrace.database.patience import once, repeatable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import URL

    from headrace.auth.audit.entries import AuditQuery, Entry
    from headrace.auth.audit.pending import Draft


class AuditLog:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, url: str, patience: float = 0.0) -> None:
        """Open it. `patience` is how many seconds a call tries to get past a lost connection or a lock."""
        self.patience = patience
        self._engine = open_database(url, FAMILY, patience)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @property
    def url(self) -> URL:
        """The database that it is in."""
        return self._engine.url

    @once
    def draft(self, draft: Draft) -> None:
        """Write entries down before their change is made."""
        with self._engine.begin() as connection:
            draft.write(connection)

    @once
    def complete(self, completed: Sequence[tuple[int | None, Entry]]) -> None:
        """Write entries down, each in the place of the one with its number, if it has one and that is there."""
        with self._engine.begin() as connection:
            for number, entry in completed:
                if number is None or not audit.rewrite(connection, number, entry):
                    audit.write(connection, [entry])

    @repeatable
    def find(self, query: AuditQuery) -> list[Entry]:
        """Return entries, the newest first."""
        with self._engine.connect() as connection:
            return audit.find(connection, query)

    @repeatable
    def prune(self, retention_seconds: float) -> int:
        """Forget what is older; return how many entries that were."""
        before, forgotten = time.time() - retention_seconds, 0
        while True:
            with self._engine.begin() as connection:
                some = audit.prune(connection, before)
            forgotten += some
            if not some:
                return forgotten
