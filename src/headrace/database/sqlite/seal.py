"""The checksum of a database that nobody has open: SQLite keeps none, and doesn't see a bit that flips in a row.

Be careful: it opens the file, so this process must not have the database open.
"""

from __future__ import annotations

import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.database.sqlite.locations import WRITE_AHEAD_LOG, companion, is_absent
from headrace.database.sqlite.record import read_record, write_record

if TYPE_CHECKING:
    from pathlib import Path

_CHUNK = 1 << 20


def seal(path: Path) -> None:
    """Remember the checksum of a database that was closed well: then its write-ahead log is gone."""
    record = read_record(path)
    if record is None or is_absent(path) or companion(path, WRITE_AHEAD_LOG).exists():
        return
    with suppress(OSError):  # then the next start knows less, which is no fault
        write_record(path, record._replace(closed=checksum_of(path)))


def checksum_of(path: Path) -> int:
    """Return the checksum of the whole file."""
    value = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK):
            value = zlib.crc32(chunk, value)
    return value
