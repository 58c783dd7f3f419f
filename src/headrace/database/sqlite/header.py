"""The header of a SQLite file as it stands on the disk, without what waits in the write-ahead log."""

from __future__ import annotations

import os
import struct
import time
from typing import TYPE_CHECKING

from headrace.database.sqlite.record import Record

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"SQLite format 3\0"
_BYTES = 100
_USER_VERSION, _APPLICATION_ID = 60, 68
_AGAIN_SECONDS = 0.01


class Header:
    """Follows one file's header: its identity stays, and its count of commits never goes back. For one thread.

    Be careful: the file stays open. Closing it would end every lock that this process has on the database.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._descriptor: int | None = None
        self._last: Record | None = None

    def overwritten(self) -> Record | None:
        """Return what the header said before, where somebody else than SQLite wrote over it since."""
        if self._is_plausible(self._read()):
            return None
        time.sleep(_AGAIN_SECONDS)  # SQLite may have been writing it at that moment
        return None if self._is_plausible(self._read()) else self._last

    def close(self) -> None:
        """Close the file. Nobody in this process may have the database open any more."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _is_plausible(self, found: Record | None) -> bool:
        last = self._last
        if last is None:
            self._last = found
            return True
        if (
            found is None
            or last.commits_ahead_of(found)
            or found.identity != (last.identity or found.identity)
        ):
            return False
        self._last = found
        return True

    def _read(self) -> Record | None:
        try:
            if self._descriptor is None:
                self._descriptor = os.open(self._path, os.O_RDONLY | os.O_CLOEXEC)
            header = os.pread(self._descriptor, _BYTES, 0)
        except OSError:
            return self._last
        if len(header) < _BYTES or not header.startswith(_MAGIC):
            return None
        [commits] = struct.unpack_from(">i", header, _USER_VERSION)
        [identity] = struct.unpack_from(">i", header, _APPLICATION_ID)
        return Record(identity, commits)
