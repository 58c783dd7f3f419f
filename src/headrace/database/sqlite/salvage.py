"""Reading what can still be read of a damaged SQLite database, around the pages that can't.

A table is read forwards until the damage, then backwards to it; between the two, ranges of rows are halved until only
those are left that can't be read. What is found goes into a new database; rows that don't fit there are left out.
"""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING, Any, NamedTuple

from headrace.database.sqlite.integrity import open_to_read

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence
    from pathlib import Path

_MOST_QUERIES = 20_000  # for one table's ranges: enough for thousands of damaged pages
_AT_A_TIME = 1_000
_LAST_ROW = 1 << 32
_Row = tuple[Any, ...]


class Salvaged(NamedTuple):
    """What came of one table. `complete`: it was read from one end to the other, and every row fitted."""

    table: str
    kept: int
    complete: bool


def salvage(source: Path, target: Path, tables: Iterable[str]) -> list[Salvaged]:
    """Copy the rows of these tables from a damaged database into a whole one that has them, and none of their rows."""
    with closing(sqlite3.connect(target)) as writing:
        try:
            reading = open_to_read(source)
        except sqlite3.Error:
            return [Salvaged(table, 0, complete=False) for table in tables]
        with closing(reading):
            reading.text_factory = _text
            found = [_salvage(reading, writing, table) for table in tables]
        return _without_orphans(writing, found)


def read_column(source: Path, query: str) -> set[str]:
    """Return the texts that a query gives of a damaged database, as far as it can be answered."""
    texts: set[str] = set()
    try:
        with closing(open_to_read(source)) as reading:
            reading.text_factory = _text
            texts.update(str(text) for (text,) in reading.execute(query))
    except sqlite3.Error:
        pass
    return texts


def _salvage(reading: sqlite3.Connection, writing: sqlite3.Connection, table: str) -> Salvaged:
    try:
        there = _columns(reading, table)
    except sqlite3.Error:
        return Salvaged(table, 0, complete=False)
    if not there:
        return Salvaged(table, 0, complete=False)
    columns = [name for name in _columns(writing, table) if name in there]
    reader = _Reader(reading, table, columns)
    before = writing.total_changes
    fitted = _insert(writing, table, columns, reader.rows())
    writing.commit()
    return Salvaged(table, writing.total_changes - before, complete=reader.complete and fitted)


class _Reader:
    """Reads one table. `complete` holds once all rows were read."""

    def __init__(self, connection: sqlite3.Connection, table: str, columns: Sequence[str]) -> None:
        self._connection = connection
        self._key = _key(connection, table)
        self._query = (
            f"SELECT {self._key[0]}, {', '.join(map(_quoted, columns))} FROM {_quoted(table)} NOT INDEXED"  # noqa: S608
        )
        self._queries = 0
        self.complete = True

    def rows(self) -> Iterator[_Row]:
        """Yield every row that can be read, once or more."""
        last: list[Any] = [None]
        self.complete = yield from self._read(f"ORDER BY {', '.join(self._key)}", (), last)
        if self.complete:
            return
        first: list[Any] = [None]
        yield from self._read(f"ORDER BY {', '.join(f'{each} DESC' for each in self._key)}", (), first)
        if self._key == ("rowid",):
            low, high = last[-1], first[-1]
            yield from self._between(1 if low is None else low + 1, _LAST_ROW if high is None else high - 1)

    def _between(self, low: int, high: int) -> Iterator[_Row]:
        """Halve the range until what can't be read is alone."""
        ranges = [(low, high)]
        while ranges and self._queries < _MOST_QUERIES:
            low, high = ranges.pop()
            if low > high:
                continue
            whole = yield from self._read("WHERE rowid BETWEEN ? AND ? ORDER BY rowid", (low, high), [])
            if not whole and low < high:
                middle = (low + high) // 2
                ranges += [(low, middle), (middle + 1, high)]

    def _read(self, rest: str, values: tuple[int, ...], keys: list[Any]) -> Generator[_Row, None, bool]:
        """Yield rows up to the end or to the damage; `keys` gets the last one's key. False where it was damage."""
        self._queries += 1
        try:
            for key, *row in self._connection.execute(f"{self._query} {rest}", values):
                keys[-1:] = [key]
                yield tuple(row)
        except sqlite3.Error:
            return False
        return True


def _insert(connection: sqlite3.Connection, table: str, columns: Sequence[str], rows: Iterable[_Row]) -> bool:
    """Insert rows; one whose key is there already was read twice. False where some don't fit."""
    names, places = ", ".join(map(_quoted, columns)), ", ".join("?" * len(columns))
    statement = f"INSERT INTO {_quoted(table)} ({names}) VALUES ({places})"  # noqa: S608
    fitted = True
    for number, row in enumerate(rows):
        try:
            connection.execute(statement, row)
        except sqlite3.Error as error:
            fitted = fitted and str(error).startswith("UNIQUE")
        if number % _AT_A_TIME == 0:
            connection.commit()
    return fitted


def _without_orphans(connection: sqlite3.Connection, found: list[Salvaged]) -> list[Salvaged]:
    """Remove rows that refer to rows which are lost."""
    orphans: dict[str, int] = {}
    for table, rowid, *_ in connection.execute("PRAGMA foreign_key_check").fetchall():
        removed = connection.execute(f"DELETE FROM {_quoted(table)} WHERE rowid = ?", (rowid,))  # noqa: S608
        orphans[table] = orphans.get(table, 0) + removed.rowcount
    connection.commit()
    return [
        Salvaged(each.table, each.kept - orphans[each.table], complete=False)
        if each.table in orphans
        else each
        for each in found
    ]


def _columns(connection: sqlite3.Connection, table: str) -> list[str]:
    return [row[1] for row in connection.execute(f"PRAGMA table_info({_quoted(table)})")]


def _key(connection: sqlite3.Connection, table: str) -> tuple[str, ...]:
    """Return what a table is ordered by on the disk."""
    try:
        connection.execute(f"SELECT rowid FROM {_quoted(table)} LIMIT 0")  # noqa: S608
    except sqlite3.OperationalError:
        info = connection.execute(f"PRAGMA table_info({_quoted(table)})").fetchall()
        return tuple(_quoted(row[1]) for row in sorted(info, key=lambda row: row[5]) if row[5])
    return ("rowid",)


def _text(content: bytes) -> str:
    return content.decode(errors="replace")


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
