"""What is remembered of a database outside of it: which one it is, and how many commits it has had at least.

Each database has a random identity (`application_id`) and counts its commits (`user_version`), both in SQLite's header.
A small file in the folder `records` beside it repeats them after each commit. So a start sees that the database is
missing, is another one, or is an older copy: one that was put back, or one whose write-ahead log is gone. The file is
never ahead of the database: it is written after a commit is durable, and a crash may lose its last writes.
"""

from __future__ import annotations

import os
import re
import zlib
from contextlib import closing, suppress
from typing import TYPE_CHECKING, NamedTuple

from headrace.database.sqlite.integrity import open_to_read

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

FOLDER = "records"
"""Not beside the database: who puts an older copy back takes all files of its name."""

_MOST = 0x7FFF_FFFF
_LINE = re.compile(
    r"headrace database ([0-9a-f]{8}) commits ([0-9]{10}) (trusted|suspect) "
    r"closed ([0-9a-f]{8}|-{8}) ([0-9a-f]{8})\n"
)
_CHECKED = len("headrace database 00000000 commits 0000000000 trusted closed -------- ")


class Record(NamedTuple):
    """`suspect`: it was changed under the processes that used it, which a later look may not find.

    `closed` is the checksum that the whole file had when its last user closed it; None while it is in use, and where
    its users were killed.
    """

    identity: int
    commits: int
    suspect: bool = False
    closed: int | None = None

    def commits_ahead_of(self, other: Record) -> int:
        """Return how many commits this one knows of that the other one lacks; the count begins anew at 2**31."""
        ahead = (self.commits - other.commits) & _MOST
        return ahead if ahead <= _MOST // 2 else 0


def next_count(commits: int) -> int:
    """Return the count after one more commit."""
    return (commits + 1) & _MOST


def new_identity() -> int:
    """Return a number that no other database has; never 0, which is none."""
    return int.from_bytes(os.urandom(4)) & _MOST or 1


def record_path(path: Path) -> Path:
    """Return where it is remembered what is known of a database."""
    return path.parent / FOLDER / f"{path.name}.record"


def read_record(path: Path) -> Record | None:
    """Return what is remembered of the database at `path`; None where nothing is, or nothing that can be read."""
    try:
        line = record_path(path).read_bytes().decode("ascii", "replace")
    except OSError:
        return None
    found = _LINE.fullmatch(line)
    if found is None or found[5] != _check(line):
        return None
    closed = None if found[4].startswith("-") else int(found[4], 16)
    return Record(int(found[1], 16), int(found[2]), found[3] == "suspect", closed)


def write_record(path: Path, record: Record) -> None:
    """Remember it. The line has one length and is written in place, so that a full disk is no obstacle."""
    line = f"headrace database {record.identity:08x} commits {record.commits:010} "
    line += "suspect " if record.suspect else "trusted "
    line += "closed -------- " if record.closed is None else f"closed {record.closed:08x} "
    content = f"{line}{_check(line)}\n".encode()
    descriptor = _open(record_path(path))
    try:
        os.pwrite(descriptor, content, 0)
        os.ftruncate(descriptor, len(content))  # what was there may have been something else
    finally:
        os.close(descriptor)


def _open(file: Path) -> int:
    try:
        return os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
    except FileNotFoundError:
        file.parent.mkdir(mode=0o700, exist_ok=True)
        return os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)


def forget_record(path: Path) -> None:
    """Know nothing any more of the database at `path`."""
    with suppress(FileNotFoundError):
        record_path(path).unlink()


def record_of(connection: sqlite3.Connection) -> Record:
    """Return what a database says of itself; it has no identity before its first start with one."""
    [identity] = connection.execute("PRAGMA application_id").fetchone()
    [commits] = connection.execute("PRAGMA user_version").fetchone()
    return Record(identity, commits)


def read_database(path: Path) -> Record:
    """Return what the database at `path` says of itself, its write-ahead log included."""
    with closing(open_to_read(path)) as connection:
        return record_of(connection)


def _check(line: str) -> str:
    """Return the checksum of a line, with or without one at its end."""
    return f"{zlib.crc32(line[:_CHECKED].encode()):08x}"
