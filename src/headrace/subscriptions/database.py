"""Opening a database: PostgreSQL as it comes, SQLite so that several processes share it and commits last."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, make_url

if TYPE_CHECKING:
    from sqlalchemy import Engine, MetaData

_TIMEOUT = 30.0  # seconds to wait for another process's transaction


def open_database(url: str, metadata: MetaData) -> Engine:
    """Return an engine whose tables exist."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        engine = create_engine(parsed)
        metadata.create_all(engine)
        return engine
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, connect_args={"timeout": _TIMEOUT})
    event.listen(engine, "connect", _tune_sqlite)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # of processes that start at once, one makes the tables
        metadata.create_all(connection)
        connection.commit()
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
        except sqlite3.OperationalError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.005)
        else:
            return
