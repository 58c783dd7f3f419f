"""The quotas that namespaces have of their own."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from sqlalchemy import delete, func, insert, select

from headrace.database.patience import repeatable
from headrace.subscriptions.quotas.checks import overrides_of
from headrace.subscriptions.store.revisions import next_revision
from headrace.subscriptions.tables import CHANNELS, FAMILY, QUOTAS, SUBSCRIPTIONS

if TYPE_CHECKING:
    from collections.abc import Callable

    from sqlalchemy import Connection

    from headrace.database.database import Database
    from headrace.subscriptions.quotas.quotas import Overrides


class QuotaStore:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)

    @repeatable
    def all(self) -> dict[str, Overrides]:
        """Return what is set, by namespace."""
        with self.database.reading() as connection:
            rows = connection.execute(select(QUOTAS).order_by(QUOTAS.c.namespace))
            return {row.namespace: overrides_of(row) for row in rows}

    @repeatable
    def set(
        self, namespace: str, overrides: Overrides, also: Callable[[Connection], object] = lambda _: None
    ) -> None:
        """Let a namespace have these, and no others; `also` is done in the same transaction.

        What is there already stays, even where it is more.
        """
        values = {name: value for name, value in asdict(overrides).items() if value is not None}
        with self.database.writing() as connection:
            next_revision(connection)
            connection.execute(delete(QUOTAS).where(QUOTAS.c.namespace == namespace))
            if values:
                connection.execute(insert(QUOTAS).values(namespace=namespace, **values))
            also(connection)

    @repeatable
    def used(self, namespace: str) -> dict[str, int]:
        """Count what a namespace has."""
        subscriptions = select(func.count()).where(
            SUBSCRIPTIONS.c.namespace == namespace, ~SUBSCRIPTIONS.c.deleting
        )
        channels = select(func.count()).where(CHANNELS.c.namespace == namespace)
        with self.database.reading() as connection:
            return {
                "subscriptions": connection.execute(subscriptions).scalar() or 0,
                "channels": connection.execute(channels).scalar() or 0,
            }
