"""Whether SQLite finds a database whole. It is only read: a look changes nothing and loses nothing."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing
from typing import TYPE_CHECKING
from urllib.parse import quote

from headrace.database.sqlite.locations import is_absent

if TYPE_CHECKING:
    from pathlib import Path

START_SECONDS = 20.0
"""How long a start looks at one database at most; what it has not seen by then counts as whole."""

_CERTAIN = {sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB}
_LIKELY = {sqlite3.SQLITE_IOERR, sqlite3.SQLITE_CANTOPEN}
_FINDINGS = 5
_STEPS = 10_000  # of SQLite's machine, between two looks at the clock
_WAIT_SECONDS = 5.0


def damage_of(path: Path, seconds: float = START_SECONDS) -> str | None:
    """Return what is wrong with the file, None where nothing was found within so many seconds."""
    # Be careful: the file is never opened but by SQLite. Closing it would end every lock that this process has on it.
    if is_absent(path):
        return "the file is empty" if path.exists() else "the file is missing"
    try:
        with closing(open_to_read(path)) as connection:
            return _quick_check(connection, seconds)
    except sqlite3.Error as error:
        code = primary_code(error)
        return str(error) if code in _CERTAIN or code == sqlite3.SQLITE_IOERR else None


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a database that this connection never changes, nor what lies beside it."""
    return sqlite3.connect(f"file:{quote(str(path))}?mode=ro", uri=True, timeout=_WAIT_SECONDS)


def primary_code(error: BaseException | None) -> int | None:
    """Return SQLite's number for a kind of error; None where it isn't SQLite's."""
    code = getattr(error, "sqlite_errorcode", None)
    return None if code is None else int(code) & 0xFF


def is_corruption(error: BaseException | None) -> bool:
    """Tell an error that says for certain that a file is damaged: trying again never gets past it."""
    return primary_code(error) in _CERTAIN


def hints_at_corruption(error: BaseException | None) -> bool:
    """Tell an error that a damaged file gives rise to, and other things too: look at the file."""
    code = primary_code(error)
    return code in _LIKELY or (code == sqlite3.SQLITE_ERROR and str(error).startswith("no such table"))


def _quick_check(connection: sqlite3.Connection, seconds: float) -> str | None:
    deadline = time.monotonic() + seconds
    connection.set_progress_handler(lambda: time.monotonic() > deadline, _STEPS)
    try:
        rows = connection.execute(f"PRAGMA quick_check({_FINDINGS})").fetchall()
    except sqlite3.OperationalError as error:
        if primary_code(error) == sqlite3.SQLITE_INTERRUPT:
            return None
        raise
    finding = "; ".join(str(row[0]).replace("\n", " ") for row in rows)
    return None if finding == "ok" else finding
