"""Where a SQLite database lies, and the files that belong to it."""

from __future__ import annotations

import re
from pathlib import Path

WRITE_AHEAD_LOG, WRITE_AHEAD_INDEX = "-wal", "-shm"
# As SQLAlchemy parses it, without SQLAlchemy: the supervisor asks, and has no other use for 30 MB of modules.
_SQLITE_URL = re.compile(r"sqlite(?:\+[\w+]*)?://[^/?]*(?:/(?P<database>[^?]*))?")


def sqlite_path(url: str) -> Path | None:
    """Return the file of a SQLite database; None for one in memory, and for a server's."""
    parsed = _SQLITE_URL.match(url)
    if parsed is None or parsed["database"] in {None, "", ":memory:"}:
        return None
    return Path(parsed["database"]).absolute()


def companion(path: Path, suffix: str) -> Path:
    """Return the file beside a database whose name ends so."""
    return path.with_name(path.name + suffix)


def is_absent(path: Path) -> bool:
    """Tell whether there is no database: no file, or an empty one, which is what opening it would make."""
    try:
        return path.stat().st_size == 0
    except (FileNotFoundError, NotADirectoryError):
        return True
