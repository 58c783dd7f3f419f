"""Whose subscriptions are, for a database that may be another one than the store's.

What was tried for a subscription outlives it, and is still its namespace's alone. Where it isn't known whose something
is, only those see it who see everything.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import delete, select
from sqlalchemy.dialects import postgresql, sqlite

from headrace.ledger.tables import ATTEMPTS, DEAD, OWNERS

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from sqlalchemy import ColumnElement, Connection

_AT_A_TIME = 500


def note(connection: Connection, pairs: Sequence[tuple[str, str]]) -> None:
    """Write down whose subscriptions are. That never changes."""
    insert = postgresql.insert if connection.dialect.name == "postgresql" else sqlite.insert
    rows = [{"subscription": subscription, "namespace": namespace} for subscription, namespace in pairs]
    if rows:
        connection.execute(insert(OWNERS).on_conflict_do_nothing(), rows)


def namespace_of(connection: Connection, subscription: str) -> str | None:
    """Return whose a subscription is, or was."""
    query = select(OWNERS.c.namespace).where(OWNERS.c.subscription == subscription)
    return connection.execute(query).scalar()


def is_among(column: ColumnElement[Any], namespaces: Collection[str]) -> ColumnElement[bool]:
    """Return what a row with a subscription has to meet to be of one of the namespaces."""
    theirs = select(OWNERS.c.subscription).where(OWNERS.c.namespace.in_(sorted(namespaces)))
    return column.in_(theirs)


def forget(connection: Connection, gone: Iterable[str]) -> None:
    """Forget subscriptions that are gone, once nothing is left of them."""
    subscriptions = sorted(gone)
    for start in range(0, len(subscriptions), _AT_A_TIME):
        some = subscriptions[start : start + _AT_A_TIME]
        kept = [
            select(table.c.subscription).where(table.c.subscription.in_(some)) for table in (ATTEMPTS, DEAD)
        ]
        its = OWNERS.c.subscription.in_(some), *(OWNERS.c.subscription.not_in(each) for each in kept)
        connection.execute(delete(OWNERS).where(*its))


def all_of(connection: Connection) -> set[str]:
    """Return the subscriptions that are known."""
    return set(connection.execute(select(OWNERS.c.subscription)).scalars())
