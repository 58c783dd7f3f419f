"""A number that one process advances and others watch, without system calls.

It tells readers how far they may read; it is never the truth after a crash: that is in the files themselves.
"""

from __future__ import annotations

import mmap
import os
import struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# The value and its complement: a reader that catches a half-written pair notices and looks again.
_PAIR = struct.Struct("<qq")


class Mark:
    """One writer, any number of readers, in any process."""

    def __init__(self, path: Path, *, create: bool = False) -> None:
        descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
        try:
            if create and os.fstat(descriptor).st_size < _PAIR.size:
                os.ftruncate(descriptor, _PAIR.size)
            self._map = mmap.mmap(descriptor, _PAIR.size)
        finally:
            os.close(descriptor)

    def get(self) -> int | None:
        """Return the number, or None where no number was ever set."""
        while True:
            value, complement = _PAIR.unpack_from(self._map)
            if value == ~complement:
                return int(value)
            if value == complement == 0:
                return None

    def set(self, value: int) -> None:
        """Advance it, for every reader at once."""
        _PAIR.pack_into(self._map, 0, value, ~value)

    def close(self) -> None:
        """Unmap it."""
        self._map.close()
