"""Where a SQLite database lies, and the files that belong to it."""

from __future__ import annotations

import re
from pathlib import Path

WRITE_AHEAD_LOG, WRITE_AHEAD_INDEX = "-wal", "-shm"
_PLAIN_URL = re.compile(r"sqlite(?:\+\w+)?:///(?P<database>[^?%@]*)(?:\?[^%@]*)?")


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite database; None for one in memory, and for a server's."""
    plain = _PLAIN_URL.fullmatch(url)
    database = _sqlite_database(url) if plain is None else plain["database"]
    return None if database in {None, "", ":memory:"} else Path(str(database)).absolute()


def _sqlite_database(url: str) -> str | None:
    """Ask SQLAlchemy: what escapes mean differs between its versions."""
    from sqlalchemy import make_url  # the supervisor asks for plain URLs only, and saves 30 MB
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError:
        return None
    return parsed.database if parsed.get_backend_name() == "sqlite" else None


def companion(path: Path, suffix: str) -> Path:
    """Return the file beside a database whose name ends so."""
    return path.with_name(path.name + suffix)


def is_absent(path: Path) -> bool:
    """Tell whether there is no database: no file, or an empty one, which is what opening it would make."""
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
