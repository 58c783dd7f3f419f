"""The files through which processes share their counters, with disk space allocated before they are mapped.

prometheus_client maps sparse files: on a full disk, writing to an unallocated page raises SIGBUS, which kills the
process. Without disk space a process goes on counting in memory, and `/metrics` shows what it had counted before.
"""

from __future__ import annotations

import io
import logging
import mmap
import os
from pathlib import Path
from typing import Any

from prometheus_client import mmap_dict, multiprocess, values

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
        except OSError:  # no space, or in memory already
            self._go_on_in_memory(capacity, self._m[: self._used])

    def _go_on_in_memory(self, capacity: int, content: bytes) -> None:
        _log.warning("the disk has no space for more metrics; this process goes on counting in memory")
        self._m, self._capacity = mmap.mmap(-1, capacity), capacity
        self._m[: len(content)] = content


class ReadableMetrics(multiprocess.MultiProcessCollector):
    """The sum of what all processes counted, without damaged files. Each of those is reported once: see `told`."""

    def __init__(self, folder: Path, told: set[str]) -> None:
        super().__init__(None, str(folder))  # type: ignore[no-untyped-call]
        self._folder = folder
        self._told = told

    def collect(self) -> Any:
        """Return the metrics."""
        files = [str(path) for path in sorted(self._folder.glob("*.db"))]
        try:
            return self.merge(files)  # type: ignore[no-untyped-call]
        except Exception:  # noqa: BLE001  bytes of any kind may be in them
            return self.merge([file for file in files if self._is_whole(file)])  # type: ignore[no-untyped-call]

    def _is_whole(self, file: str) -> bool:
        """Read the file alone: the library gives up everything for one that is damaged."""
        try:
            self.merge([file])  # type: ignore[no-untyped-call]
        except Exception as error:  # noqa: BLE001  bytes of any kind may be in it
            if file not in self._told:
                _log.warning("%s can't be read, and /metrics lacks what its process counted: %s", file, error)
            self._told.add(file)
            return False
        return True


def reserve_metric_files() -> None:
    """Make all metrics created from now on allocate their disk space first."""
    values.MmapedDict = ReservedDict  # type: ignore[attr-defined]


def _reserve(path: Path) -> bool:
    """Allocate the space of a file to be mapped. Without space, remove the empty file: it could not be read."""
    try:
        with path.open("ab") as file:
            os.posix_fallocate(file.fileno(), 0, max(file.tell(), _FIRST_BYTES))
    except OSError:
        if path.exists() and not path.stat().st_size:
            path.unlink(missing_ok=True)
        return False
    return True
