"""Which version a family of tables has in a database, and bringing it to the newest.

Whoever opens a database does so. Mostly that is one look at the version; only where there is something to do is alembic
loaded. A migration is one transaction under a lock: of processes that start at once one does it while the others
wait, and one that is killed at it has changed nothing.
"""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from sqlalchemy import column, inspect, select, table

from headrace.errors import SchemaRefused

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sqlalchemy import Connection, Engine

    from headrace.database.families import Family

# A number of our own: of processes that start at once, one migrates.
_MIGRATING = 0x68656164


def bring_up(engine: Engine, family: Family) -> None:
    """Let the family's tables be of the newest version; SchemaRefused where they can't be."""
    if version_of(engine, family) == family.newest:
        return
    from headrace.database.migrations import migrate  # loads alembic, which takes a while

    with _alone(engine) as connection:
        if _version(connection, family) != family.newest:
            migrate(connection, family)


def version_of(engine: Engine, family: Family) -> str | None:
    """Return the version of the tables, None where none is written down; SchemaRefused where it isn't known here."""
    with engine.connect() as connection:
        return _version(connection, family)


def _version(connection: Connection, family: Family) -> str | None:
    if not inspect(connection).has_table(family.version_table):
        return None
    numbers = table(family.version_table, column("version_num"))
    version = connection.execute(select(numbers.c.version_num)).scalar()
    if version is not None and version not in family.versions:
        raise SchemaRefused(
            family.name,
            connection.engine.url.render_as_string(hide_password=True),
            f"have version {version}, and this Headrace knows them up to {family.newest}",
            "Run the newer Headrace that wrote it, or restore the copy that was made before",
        )
    return version


@contextmanager
def _alone(engine: Engine) -> Iterator[Connection]:
    """Yield a connection in a transaction, while nobody else migrates. It is committed, or nothing has happened."""
    is_sqlite = engine.dialect.name == "sqlite"
    lock = "BEGIN IMMEDIATE" if is_sqlite else f"SELECT pg_advisory_xact_lock({_MIGRATING})"
    with _unchecked(engine) if is_sqlite else engine.connect() as connection:
        connection.exec_driver_sql(lock)
        yield connection
        connection.commit()


@contextmanager
def _unchecked(engine: Engine) -> Iterator[Connection]:
    """Yield a connection to SQLite that leaves foreign keys alone.

    SQLite changes a table by copying it and dropping the old one, and with it would go the rows that refer to its rows.
    """
    with engine.connect() as connection:
        connection.exec_driver_sql("PRAGMA foreign_keys=OFF")
        connection.commit()
        try:
            yield connection
        finally:
            connection.rollback()
            connection.exec_driver_sql("PRAGMA foreign_keys=ON")
            connection.commit()
