"""Migrations, by alembic: from no tables, from those made before versions were kept, or from an older version."""

from __future__ import annotations

import logging
import threading
from typing import TYPE_CHECKING, Any

from alembic.autogenerate import compare_metadata
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect

from headrace.database.families import FIRST
from headrace.errors import SchemaRefused

if TYPE_CHECKING:
    from sqlalchemy import Connection, MetaData

    from headrace.database.families import Family

_log = logging.getLogger(__name__)
_one_at_a_time = threading.Lock()  # alembic's `op` is one for the whole process


def migrate(connection: Connection, family: Family) -> None:
    """Bring the tables to the newest version, in the transaction that the connection is in."""
    scripts = ScriptDirectory(family.scripts, version_locations=[family.scripts])
    context = migration_context(connection, family, fn=lambda now, _: scripts._upgrade_revs("head", now))  # noqa: SLF001
    with _one_at_a_time, Operations.context(context):
        known = context.get_current_revision()
        if known is None:
            _adopt(connection, context, scripts, family)
        context.run_migrations()
        _check_references(connection)
    if known is not None:
        _log.info("the tables of %s went from version %s to %s", family.name, known, family.newest)


def migration_context(connection: Connection, family: Family, **more: Any) -> MigrationContext:
    """Return alembic's context for a family."""
    # Both databases can undo changes of a schema; alembic doesn't trust SQLite's driver with it, as it begins no
    # transaction by itself, but here one has begun.
    options = {"version_table": family.version_table, "transactional_ddl": True, **more}
    return MigrationContext.configure(connection, opts=options)


def _adopt(
    connection: Connection, context: MigrationContext, scripts: ScriptDirectory, family: Family
) -> None:
    """Take tables that were made before versions were kept for what they are: version 1."""
    tables: MetaData = scripts.get_revision(FIRST).module.TABLES
    if tables.tables.keys().isdisjoint(inspect(connection).get_table_names()):
        return
    _complete(connection, tables)
    faults = differences(connection, family, tables)
    if faults:
        raise SchemaRefused(
            family.name,
            connection.engine.url.render_as_string(hide_password=True),
            f"have no version and aren't those of version {FIRST} either: {'; '.join(faults)}",
            "Start once with the Headrace that made them, or begin with a new database",
        )
    context.stamp(scripts, FIRST)


def _complete(connection: Connection, tables: MetaData) -> None:
    """Make what is missing: so did each start in those days, and a process made only what it had loaded."""
    tables.create_all(connection)
    for table in tables.tables.values():
        for index in table.indexes:
            index.create(connection, checkfirst=True)


def differences(connection: Connection, family: Family, wanted: MetaData) -> list[str]:
    """Tell what in the database isn't as wanted. Tables that `wanted` doesn't have are nobody's business here."""

    def is_ours(name: str | None, kind: str, _: object) -> bool:
        return kind != "table" or name in wanted.tables

    context = migration_context(connection, family, include_name=is_ours)
    return [_told(each) for each in compare_metadata(context, wanted)]


def _told(difference: Any) -> str:
    if isinstance(difference, list):  # the changes of one column
        return "; ".join(_told(each) for each in difference)
    kind, *rest = difference
    verb, _, what = kind.partition("_")
    if verb == "modify":
        _, table, column, _, found, wanted = rest
        return f"{what} of {table}.{column} is {found!r}, not {wanted!r}"
    thing = rest[-1]
    owner = getattr(thing, "table", None)
    if what == "column":
        name = f"{rest[1]}.{thing.name}"
    else:
        name = thing.name if owner is None else f"{thing.name or ''} of {owner.name}".strip()
    return f"{what} {name} {'is missing' if verb == 'add' else 'is not known'}"


def _check_references(connection: Connection) -> None:
    """Look at what SQLite didn't look at meanwhile; PostgreSQL did."""
    if connection.dialect.name == "sqlite":
        broken = connection.exec_driver_sql("PRAGMA foreign_key_check").first()
        if broken is not None:
            raise AssertionError(
                f"a migration left a row of {broken[0]} that refers to nothing in {broken[2]}"
            )
