"""Watching the files of the SQLite databases that this process has open.

SQLite writes on into a file that was removed or replaced under it, and what it writes is lost. So each time a
connection is taken, the database and its write-ahead log must be the files that the connection opened. Errors that
speak of damage are looked into once. From then on every use of the database is refused: an operator decides.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from headrace.database.sqlite.header import Header
from headrace.database.sqlite.integrity import damage_of, hints_at_corruption, is_corruption
from headrace.database.sqlite.locations import WRITE_AHEAD_INDEX, WRITE_AHEAD_LOG, companion, is_absent
from headrace.database.sqlite.record import next_count, read_record, record_of, write_record
from headrace.errors import DatabaseDamaged
from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from pathlib import Path

    from sqlalchemy import Connection, Engine
    from sqlalchemy.engine import ExceptionContext

    from headrace.database.contents import Contents
    from headrace.database.sqlite.record import Record

_LOOK_SECONDS = 10.0  # at a damaged file, while requests wait for it
_FILES, _WROTE = "headrace.files", "headrace.wrote"
_KINDS = {"": "the file", WRITE_AHEAD_LOG: "its write-ahead log", WRITE_AHEAD_INDEX: "its write-ahead index"}

_Files = dict[str, tuple[int, int] | None]


class Watch:
    """One file, whoever in this process has it open. Any thread may call; once damaged, it stays so."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.users: set[int] = set()
        self._contents: dict[str, Contents] = {}
        self._finding: str | None = None
        self._header = Header(path)
        self._file: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._looking = threading.Lock()

    def attach(self, engine: Engine, contents: Contents) -> None:
        """Count the engine among those that use the file."""
        self._contents[contents.name] = contents
        self.users.add(id(engine))

    def listeners(self) -> dict[str, Callable[..., object]]:
        """Return what checks an engine's connections, counts its commits and looks into its errors, by event."""
        return {
            "do_connect": self._connecting,
            "connect": self._connected,
            "checkout": self._taken,
            "checkin": self._given_back,
            "close": self._closing,
            "commit": _count_commit,
            "handle_error": self._failed,
            "engine_disposed": lambda engine: _let_go(self, engine),
        }

    def error(self) -> DatabaseDamaged | None:
        """Return the refusal, where damage was found."""
        if self._finding is None:
            return None
        names, helds = zip(*self._contents.values(), strict=True)
        return DatabaseDamaged(self.path, names[0], "; ".join(helds), self._finding)

    def report(self, finding: str) -> DatabaseDamaged:
        """Refuse every further use for this reason; the first one stands."""
        with self._lock:
            is_first = self._finding is None
            self._finding = self._finding or finding
        refusal = self.error()
        assert refusal is not None  # noqa: S101  it was just given a reason
        if is_first:
            HEALTH.blocked(f"database {refusal.name}", str(refusal))
        return refusal

    def look(self) -> DatabaseDamaged | None:
        """Look at the file from outside: at its name, and at the count of commits in it, which never goes back."""
        with self._looking:
            known = self._header.overwritten() if self._finding is None else None
        if known is not None:
            self._suspect(known)
            self.report("the file was overwritten with another or an older one while it was in use")
        return self.error()

    def leave(self, engine: Engine) -> bool:
        """Take note that an engine doesn't use it any more; True where none does."""
        self.users.discard(id(engine))
        if not self.users:
            self._header.close()
        return not self.users

    def examine(self) -> DatabaseDamaged | None:
        """Look at what is in the file, which takes a while."""
        finding = damage_of(self.path, _LOOK_SECONDS) if self._finding is None else None
        if finding is not None:
            self.report(finding)
        return self.error()

    def require(self) -> None:
        """Raise DatabaseDamaged unless the file is the one that this process opened first.

        Be careful: opening one that is missing would make it, and open what is left of its write-ahead log with it.
        """
        refusal = self.error()
        if refusal is not None:
            raise refusal
        now = _file(self.path)
        if self._file is not None and self._file != now:
            raise self._changed({"": self._file}, {"": now})

    def _connecting(self, *_: object) -> None:
        self.require()

    def _connected(self, connection: Any, record: Any) -> None:
        connection.execute("SELECT count(*) FROM sqlite_master").fetchall()  # opens the write-ahead log
        record.info[_FILES] = found = files_of(self.path)
        self._file = self._file or found[""]
        self.look()

    def _closing(self, *_: object) -> None:
        """Look once more: the last one who closes writes the write-ahead log into the file, and hides what was done."""
        if self.users:
            self.look()

    def _taken(self, _connection: Any, record: Any, _proxy: Any) -> None:
        refusal = self.error()
        if refusal is not None:
            raise refusal
        known, now = record.info[_FILES], files_of(self.path)
        if known != now:
            raise self._changed(known, now)

    def _changed(self, known: _Files, now: _Files) -> DatabaseDamaged:
        if now[""] != known[""] and not is_absent(self.path):
            self._suspect(None)
        return self.report(_change(known, now))

    def _suspect(self, known: Record | None) -> None:
        """Let the next start refuse the file: with the write-ahead log of another it looks like the newest."""
        record = read_record(self.path) or known
        if record is not None:
            with suppress(OSError):
                write_record(self.path, record._replace(suspect=True))

    def _given_back(self, connection: Any, record: Any) -> None:
        """Remember how many commits there were, now that the last one is durable."""
        if connection is not None and record.info.pop(_WROTE, False):
            with suppress(sqlite3.Error, OSError):
                remember(self.path, record_of(connection))

    def _failed(self, context: ExceptionContext) -> DatabaseDamaged | None:
        error = context.original_exception
        if is_corruption(error):
            return self.report(damage_of(self.path, _LOOK_SECONDS) or str(error))
        return self.examine() if hints_at_corruption(error) else None


_watches: dict[Path, Watch] = {}
_lock = threading.Lock()


def watch_for(engine: Engine, path: Path, contents: Contents) -> Watch:
    """Return the watch of a file, which lasts as long as an engine uses it; the engine has to call its listeners."""
    with _lock:
        found = _watches.setdefault(path, Watch(path))
        found.attach(engine, contents)
    return found


def watch_of(path: Path) -> Watch | None:
    """Return who watches the file, where this process has it open already."""
    with _lock:
        return _watches.get(path)


def look_at_all() -> DatabaseDamaged | None:
    """Look at every file that is in use here; return the first refusal."""
    return _first(each.look() for each in _open_ones())


def examine_all() -> DatabaseDamaged | None:
    """Look at what is in every file that is in use here; return the first refusal."""
    return _first(each.look() or each.examine() for each in _open_ones())


def remember(path: Path, found: Record) -> None:
    """Write down what a database says of itself, unless more is known already, or it is another one than it was."""
    known = read_record(path)
    if known is None or known.identity == 0:
        write_record(path, found)
    elif (
        known.identity == found.identity
        and known.commits != found.commits
        and not known.commits_ahead_of(found)
    ):
        write_record(path, found._replace(suspect=known.suspect))


def files_of(path: Path) -> _Files:
    """Return which files the database consists of, by their kind; None for one that isn't there."""
    return {suffix: _file(companion(path, suffix)) for suffix in _KINDS}


def _file(path: Path) -> tuple[int, int] | None:
    try:
        found = os.stat(path)  # noqa: PTH116  each use of a connection waits for this
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _change(known: _Files, now: _Files) -> str:
    suffix = next(each for each in known if known[each] != now[each])
    how = "removed" if now[suffix] is None else "replaced"
    return f"{_KINDS[suffix]} was {how} while it was in use"


def _count_commit(connection: Connection) -> None:
    raw: Any = connection.connection.dbapi_connection
    if raw.in_transaction:
        [commits] = raw.execute("PRAGMA user_version").fetchone()
        raw.execute(f"PRAGMA user_version={next_count(commits)}")
        connection.info[_WROTE] = True


def _open_ones() -> list[Watch]:
    with _lock:
        return list(_watches.values())


def _let_go(found: Watch, engine: Engine) -> None:
    with _lock:
        if found.leave(engine) and _watches.get(found.path) is found:
            del _watches[found.path]


def _first(refusals: Iterable[DatabaseDamaged | None]) -> DatabaseDamaged | None:
    return next((each for each in refusals if each is not None), None)
