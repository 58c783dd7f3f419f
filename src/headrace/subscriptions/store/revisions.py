"""The number that grows with every change. Whoever follows the store asks what changed since the one it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sqlalchemy import select, update

from headrace.subscriptions.tables import REVISION

if TYPE_CHECKING:
    from sqlalchemy import Connection


def next_revision(connection: Connection) -> int:
    """Take the next revision; holds the row's lock until the transaction ends."""
    return int(
        connection.execute(
            update(REVISION).values(value=REVISION.c.value + 1).returning(REVISION.c.value)
        ).scalar_one()
    )


def last_revision(connection: Connection) -> int:
    """Return the last one that was taken."""
    return int(connection.execute(select(REVISION.c.value)).scalar_one())
