"""The files through which processes share their counters, with room on the disk taken before they are mapped.

prometheus_client maps sparse files: storing into a page of one that finds no room on a full disk is a SIGBUS, which
no handler survives. Where there is no room, a process counts on in memory, and `/metrics` shows what it had counted
before.
"""

from __future__ import annotations

import io
import logging
import mmap
import os
from pathlib import Path
from typing import Any

from prometheus_client import mmap_dict, values

_log = logging.getLogger(__name__)
_FIRST_BYTES = 1 << 16
# A length, padding to eight bytes, and two numbers.
_MOST_AROUND_KEY = 4 + 8 + 16


class ReservedDict(mmap_dict.MmapedDict):
    """prometheus_client's dictionary of numbers in a file, in the same format. Not thread-safe, as that one."""

    _f: Any
    _m: mmap.mmap
    _used: int
    _capacity: int

    def __init__(self, filename: str, read_mode: bool = False) -> None:
        if read_mode or _reserve(Path(filename)):
            super().__init__(filename, read_mode)  # type: ignore[no-untyped-call]
        else:
            self._go_on_in_memory(_FIRST_BYTES, b"")
            self._f, self._fname, self._positions = io.BytesIO(), filename, {}
            self._used = 8

    def _init_value(self, key: str) -> None:
        needed = self._used + len(key.encode()) + _MOST_AROUND_KEY
        if needed > self._capacity:
            self._grow(max(2 * self._capacity, needed))
        super()._init_value(key)  # type: ignore[no-untyped-call]

    def _grow(self, capacity: int) -> None:
        try:
            os.posix_fallocate(self._f.fileno(), 0, capacity)
            self._m, self._capacity = mmap.mmap(self._f.fileno(), capacity), capacity
        except OSError:  # no room, or in memory already
            self._go_on_in_memory(capacity, self._m[: self._used])

    def _go_on_in_memory(self, capacity: int, content: bytes) -> None:
        _log.warning("there is no room for more metrics on the disk; this process counts on in memory")
        self._m, self._capacity = mmap.mmap(-1, capacity), capacity
        self._m[: len(content)] = content


def reserve_metric_files() -> None:
    """Have all metrics that are made from now on take their room first."""
    values.MmapedDict = ReservedDict  # type: ignore[attr-defined]


def _reserve(path: Path) -> bool:
    """Take the room of a file that is to be mapped. One that gets none isn't left behind: it could not be read."""
    try:
        with path.open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, max(file.tell(), _FIRST_BYTES))
    except OSError:
        if path.exists() and not path.stat().st_size:
            path.unlink(missing_ok=True)
        return False
    return True
