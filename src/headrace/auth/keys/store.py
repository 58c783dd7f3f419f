"""The API keys, in the store's database. A change and its audit entry are one transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from headrace.auth.audit import entries as audit
from headrace.auth.keys.record import KeyRecord, from_row, to_row
from headrace.auth.tables import API_KEYS, FAMILY
from headrace.database.patience import once, repeatable
from headrace.errors import Conflict, NotFound
from headrace.subscriptions.store.revisions import next_revision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.auth.audit.entries import AuditEntry
    from headrace.database.database import Database


class KeyStore:
    """Threads and processes may share the database. Its calls block, so an event loop makes them in a thread.

    Be careful: the store must have been opened once, because keys use its revision.
    """

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)

    @once
    def add(self, record: KeyRecord, entry: AuditEntry) -> None:
        """Store a new key."""
        with self.database.writing() as connection:
            connection.execute(insert(API_KEYS).values(to_row(record, next_revision(connection))))
            audit.write(connection, [entry])

    @once
    def revoke(self, key_id: str, entry: AuditEntry) -> KeyRecord:
        """Revoke a key, for ever; Conflict if it was revoked already."""
        with self.database.writing() as connection:
            revision = next_revision(connection)
            row = connection.execute(
                update(API_KEYS)
                .where(API_KEYS.c.id == key_id, API_KEYS.c.revoked.is_(None))
                .values(revoked=time.time(), revision=revision)
                .returning(API_KEYS)
            ).first()
            if row is None:
                if connection.execute(select(API_KEYS.c.id).where(API_KEYS.c.id == key_id)).first():
                    raise Conflict(f"key {key_id} was revoked already")
                raise NotFound("key", key_id)
            audit.write(connection, [entry])
        return from_row(row)

    @repeatable
    def get(self, key_id: str) -> KeyRecord:
        """Return the record of a key, or raise NotFound."""
        with self.database.reading() as connection:
            row = connection.execute(select(API_KEYS).where(API_KEYS.c.id == key_id)).first()
        if row is None:
            raise NotFound("key", key_id)
        return from_row(row)

    @repeatable
    def all(self) -> list[KeyRecord]:
        """List the keys, the oldest first, including revoked and expired ones."""
        with self.database.reading() as connection:
            rows = connection.execute(select(API_KEYS).order_by(API_KEYS.c.created, API_KEYS.c.id))
            return [from_row(row) for row in rows]

    @repeatable
    def changes(self, since: int) -> tuple[int, list[KeyRecord]]:
        """Return the revision reached, and the keys that were created or revoked after revision `since`."""
        query = select(API_KEYS).where(API_KEYS.c.revision > since)
        with self.database.reading() as connection:
            rows = connection.execute(query).all()
        return max([since, *(row.revision for row in rows)]), [from_row(row) for row in rows]

    @repeatable
    def note_used(self, used: Mapping[str, float]) -> None:
        """Store when keys were last used. `changes` doesn't report it."""
        later = update(API_KEYS).where(
            API_KEYS.c.id == bindparam("its_id"),
            API_KEYS.c.last_used.is_(None) | (API_KEYS.c.last_used < bindparam("used")),
        )
        with self.database.writing() as connection:
            connection.execute(
                later.values(last_used=bindparam("used")),
                [{"its_id": key, "used": used[key]} for key in sorted(used)],
            )
