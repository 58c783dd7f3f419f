"""Copies of a SQLite database, and putting one aside. A copy is as the database was at one moment, while it is used."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from headrace.database.sqlite.integrity import open_to_read
from headrace.database.sqlite.locations import WRITE_AHEAD_INDEX, WRITE_AHEAD_LOG, companion
from headrace.database.sqlite.record import record_path

if TYPE_CHECKING:
    from pathlib import Path

_PARTS = ("", WRITE_AHEAD_LOG, WRITE_AHEAD_INDEX)
"""How the names of the files end that a database consists of."""


def copy_database(source: Path, target: Path) -> None:
    """Copy a database that others may be using, by SQLite's online backup; the copy is one file, and durable."""
    os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
    with closing(open_to_read(source)) as reading, closing(sqlite3.connect(target)) as writing:
        reading.backup(writing)
        writing.execute("PRAGMA journal_mode=DELETE").fetchall()  # without a write-ahead log beside it
    descriptor = os.open(target, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def put_aside(path: Path) -> Path | None:
    """Rename the files of a database that nobody uses, so that they are kept; return the new name, if there was one."""
    moment = datetime.now(UTC).strftime("%Y%m%dT%H%M%S.%fZ")
    kept = path.with_name(f"{path.name}.replaced-{moment}")
    found = False
    files = [(companion(path, part), companion(kept, part)) for part in _PARTS]
    for file, target in [*files, (record_path(path), record_path(kept))]:
        if file.exists():
            file.rename(target)
            found = True
    return kept if found else None
