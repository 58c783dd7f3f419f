"""The API keys, in the store's database. A change and its entry in the record of changes are one transaction."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from sqlalchemy import bindparam, insert, select, update

from headrace.auth.audit import entries as audit
from headrace.auth.keys.record import KeyRecord, from_row, to_row
from headrace.auth.tables import API_KEYS, FAMILY
from headrace.database.engine import open_database
from headrace.database.patience import once, repeatable
from headrace.errors import Conflict, NotFound
from headrace.subscriptions.store.revisions import next_revision

if TYPE_CHECKING:
    from collections.abc import Mapping

    from headrace.auth.audit.entries import Entry


class KeyStore:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread.

    Be careful: the store has to be open, or have been opened once: its revision is what keys count by.
    """

    def __init__(self, url: str, patience: float = 0.0) -> None:
        """Open it. `patience` is how many seconds a call tries to get past a lost connection or a lock."""
        self.patience = patience
        self._engine = open_database(url, FAMILY, patience)

    def close(self) -> None:
        """Close the connections."""
        self._engine.dispose()

    @once
    def add(self, record: KeyRecord, entry: Entry) -> None:
        """Keep a new key."""
        with self._engine.begin() as connection:
            connection.execute(insert(API_KEYS).values(to_row(record, next_revision(connection))))
            audit.write(connection, [entry])

    @once
    def revoke(self, key_id: str, entry: Entry) -> KeyRecord:
        """Let a key be good no more, for ever. Conflict where that is so already."""
        with self._engine.begin() as connection:
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
        """Return what is known of a key, or raise NotFound."""
        with self._engine.connect() as connection:
            row = connection.execute(select(API_KEYS).where(API_KEYS.c.id == key_id)).first()
        if row is None:
            raise NotFound("key", key_id)
        return from_row(row)

    @repeatable
    def all(self) -> list[KeyRecord]:
        """List the keys, the oldest first, those that are good no more included."""
        with self._engine.connect() as connection:
            rows = connection.execute(select(API_KEYS).order_by(API_KEYS.c.created, API_KEYS.c.id))
            return [from_row(row) for row in rows]

    @repeatable
    def changes(self, since: int) -> tuple[int, list[KeyRecord]]:
        """Return the keys made or revoked after revision `since`, and the revision reached."""
        query = select(API_KEYS).where(API_KEYS.c.revision > since)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        return max([since, *(row.revision for row in rows)]), [from_row(row) for row in rows]

    @repeatable
    def note_used(self, used: Mapping[str, float]) -> None:
        """Write down when keys were used last. Nobody who follows the keys hears of it."""
        later = update(API_KEYS).where(
            API_KEYS.c.id == bindparam("its_id"),
            API_KEYS.c.last_used.is_(None) | (API_KEYS.c.last_used < bindparam("used")),
        )
        with self._engine.begin() as connection:
            connection.execute(
                later.values(last_used=bindparam("used")),
                [{"its_id": key, "used": used[key]} for key in sorted(used)],
            )
