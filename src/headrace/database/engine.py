"""Engines: PostgreSQL so that a lost server is noticed, SQLite so that several processes share it."""

from __future__ import annotations

import sqlite3
import time
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, make_url
from sqlalchemy.exc import ArgumentError, NoSuchModuleError

from headrace.database.sqlite.integrity import primary_code
from headrace.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

    from sqlalchemy import URL, Engine

_TIMEOUT = 30.0  # seconds to wait for another process's transaction
_TAKEN = {sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED}
_DRIVER = "postgresql+psycopg"
# All who keep rows in a database share its connections. The callers' threads are the bound, so nobody waits for one.
_POOL = {"pool_size": 20, "max_overflow": -1}
# A server that is gone without a word, with its machine or its network, is given up after about half a minute.
_LOST_AFTER = {
    "connect_timeout": 5,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}


def connect_to(url: str) -> Engine:
    """Return an engine; whether anybody answers is seen when it is used."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise ConfigError(
            f"{url!r} is no address of a database; write sqlite:///path or {_DRIVER}://user@host/name"
        ) from None
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    if parsed.drivername != _DRIVER:
        raise ConfigError(
            f"a database of kind {parsed.drivername!r} can't be used; there are sqlite and {_DRIVER}"
        )
    return _postgres(parsed)


def _postgres(url: URL) -> Engine:
    try:
        return create_engine(
            url,
            # The order in which revisions become visible rests on row locks, which this level takes as they come.
            isolation_level="READ COMMITTED",
            connect_args=_LOST_AFTER,
            pool_pre_ping=True,  # a connection that died in the pool is replaced before it is used
            **_POOL,
        )
    except (NoSuchModuleError, ModuleNotFoundError):
        raise ConfigError("PostgreSQL needs the driver psycopg: pip install 'headrace[postgres]'") from None


def make_file(path: Path) -> None:
    """Make the file of a SQLite database, if there is none, for its owner alone."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        path.touch(0o600)  # its write-ahead log gets the same rights


def _sqlite(url: URL) -> Engine:
    pool = _POOL if url.database and url.database != ":memory:" else {}
    engine = create_engine(url, connect_args={"timeout": _TIMEOUT}, **pool)
    event.listen(engine, "connect", _tune_sqlite)
    return engine


def _tune_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    _use_write_ahead_log(cursor)  # readers don't wait for the writer
    cursor.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()


def _use_write_ahead_log(cursor: sqlite3.Cursor) -> None:
    """Switch to it. SQLite's own timeout doesn't cover two processes that switch a new database at once."""
    deadline = time.monotonic() + _TIMEOUT
    while True:
        try:
            cursor.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if primary_code(error) not in _TAKEN or time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return
