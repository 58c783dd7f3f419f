"""Where a SQLite database lies, and the files that belong to it."""

from __future__ import annotations

from pathlib import Path

from sqlalchemy import make_url
from sqlalchemy.exc import ArgumentError

WRITE_AHEAD_LOG, WRITE_AHEAD_INDEX = "-wal", "-shm"


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite database; None for one in memory, and for a server's."""
    try:
        parsed = make_url(url)
    except ArgumentError:
        return None
    if parsed.get_backend_name() != "sqlite" or parsed.database in {None, "", ":memory:"}:
        return None
    return Path(str(parsed.database)).absolute()


def companion(path: Path, suffix: str) -> Path:
    """Return the file beside a database whose name ends so."""
    return path.with_name(path.name + suffix)


def is_absent(path: Path) -> bool:
    """Tell whether there is no database: no file, or an empty one, which is what opening it would make."""
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
