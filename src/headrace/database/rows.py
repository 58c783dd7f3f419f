"""Many rows in few statements, their values as they are.

A statement for each row would let go of the interpreter and ask for it back twice for each, while the event loop wants
it too; a dictionary for each would cost more than the row. Tables and columns are named by us, so that they can be
written into a statement.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Table

    Row = tuple[Any, ...]

_MARKS = {"sqlite": "?", "postgresql": "%s"}
# Few sizes, so that a statement is prepared once. The largest stays below the number of values that databases take.
_SIZES = (512, 64, 8, 1)


def insert_rows(
    connection: Connection,
    table: Table,
    columns: tuple[str, ...],
    rows: Sequence[Row],
    *,
    but_known: bool = False,
) -> None:
    """Add rows, in the transaction of the connection; each has the values of the columns, in their order.

    `but_known` leaves those out of which the table has the key.
    """
    for some in _portions(rows):
        statement = _insertion(table.name, columns, len(some), connection.dialect.name, but_known)
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(some)))


def delete_rows(connection: Connection, table: Table, columns: tuple[str, ...], keys: Sequence[Row]) -> None:
    """Remove the rows in which the columns have the values of one of the keys."""
    for some in _portions(keys, _SIZES[1:]):
        statement = _deletion(table.name, columns, len(some), connection.dialect.name)
        connection.exec_driver_sql(statement, tuple(chain.from_iterable(some)))


def _portions(rows: Sequence[Row], sizes: Sequence[int] = _SIZES) -> Iterator[Sequence[Row]]:
    start = 0
    for size in sizes:
        while len(rows) - start >= size:
            yield rows[start : start + size]
            start += size


@lru_cache
def _insertion(table: str, columns: tuple[str, ...], count: int, dialect: str, but_known: bool) -> str:
    rule = " ON CONFLICT DO NOTHING" if but_known else ""
    return f"INSERT INTO {_quoted(table)} ({_names(columns)}) VALUES {_values(columns, count, dialect)}{rule}"  # noqa: S608


@lru_cache
def _deletion(table: str, columns: tuple[str, ...], count: int, dialect: str) -> str:
    # For `(a, b) IN (VALUES …)` SQLite looks at each row of the table; for this it uses the index of the key.
    its = " AND ".join(f"{_quoted(name)} = {_MARKS[dialect]}" for name in columns)
    return f"DELETE FROM {_quoted(table)} WHERE " + " OR ".join([f"({its})"] * count)  # noqa: S608


def _values(columns: tuple[str, ...], count: int, dialect: str) -> str:
    row = "(" + ", ".join([_MARKS[dialect]] * len(columns)) + ")"
    return ", ".join([row] * count)


def _names(columns: tuple[str, ...]) -> str:
    return ", ".join(map(_quoted, columns))


def _quoted(name: str) -> str:
    return f'"{name}"'
