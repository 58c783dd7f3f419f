"""Many rows at once, as tuples that go to the driver as they are: a dictionary for each costs more than its row."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy import Connection, Table

# Tables and columns are named by us, so that they can be written into a statement.
_MARKS = {"sqlite": "?", "postgresql": "%s"}


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[tuple[Any, ...]],
    *,
    but_known: bool = False,
) -> None:
    """Add rows, in the transaction of the connection; each has the values of the columns, in their order.

    `but_known` leaves those out of which the table has the key.
    """
    if rows:
        statement = _insertion(table.name, columns, connection.dialect.name)
        rule = " ON CONFLICT DO NOTHING" if but_known else ""
        connection.exec_driver_sql(statement + rule, list(rows))


def delete_rows(
    connection: Connection, table: Table, columns: tuple[str, ...], keys: Sequence[tuple[Any, ...]]
) -> None:
    """Remove the rows in which the columns have the values of one of the keys."""
    if keys:
        connection.exec_driver_sql(_deletion(table.name, columns, connection.dialect.name), list(keys))


@lru_cache
def _insertion(table: str, columns: tuple[str, ...], dialect: str) -> str:
    names, marks = ", ".join(map(_quoted, columns)), ", ".join([_MARKS[dialect]] * len(columns))
    return f"INSERT INTO {_quoted(table)} ({names}) VALUES ({marks})"  # noqa: S608


@lru_cache
def _deletion(table: str, columns: tuple[str, ...], dialect: str) -> str:
    its = " AND ".join(f"{_quoted(name)} = {_MARKS[dialect]}" for name in columns)
    return f"DELETE FROM {_quoted(table)} WHERE {its}"  # noqa: S608


def _quoted(name: str) -> str:
    return f'"{name}"'
