"""Opening a database: PostgreSQL as it comes, SQLite so that several processes share it and commits last."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import create_engine, event, make_url

if TYPE_CHECKING:
    from sqlalchemy import Engine, MetaData


def open_database(url: str, metadata: MetaData) -> Engine:
    """Return an engine whose tables exist."""
    parsed = make_url(url)
    if parsed.get_backend_name() != "sqlite":
        engine = create_engine(parsed)
        metadata.create_all(engine)
        return engine
    if parsed.database:
        Path(parsed.database).parent.mkdir(parents=True, exist_ok=True)
    engine = create_engine(parsed, connect_args={"timeout": 30})
    event.listen(engine, "connect", _tune_sqlite)
    with engine.connect() as connection:
        connection.exec_driver_sql("BEGIN IMMEDIATE")  # of processes that start at once, one makes the tables
        metadata.create_all(connection)
        connection.commit()
    return engine


def _tune_sqlite(connection: Any, _record: object) -> None:
    cursor = connection.cursor()
    cursor.execute("PRAGMA journal_mode=WAL")  # readers don't wait for the writer
    cursor.execute("PRAGMA synchronous=FULL")  # a commit survives a power cut
    cursor.execute("PRAGMA foreign_keys=ON")
    cursor.close()
