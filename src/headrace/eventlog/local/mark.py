"""A number that one process advances and others watch, without system calls.

It tells readers how far they may read; it is never the truth after a crash: that is in the files themselves.
"""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

# The number and its complement, each one machine word. The complement is never 0 once a number was set.
_NUMBER, _COMPLEMENT = 0, 1
_SIZE = 16


class Mark:
    """One writer, any number of readers, in any process.

    Be careful: a number is stored by one instruction, through a view of machine words, so that readers see the
    old one or the new one and a writer that is killed leaves one of them. `struct.pack_into` would store zeros
    first, and byte by byte.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        descriptor = os.open(path, os.O_RDWR | (os.O_CREAT if create else 0), 0o644)
        try:
            if create:
                # Room on the disk now, or an error now: storing into a page that finds none is a SIGBUS.
                os.posix_fallocate(descriptor, 0, _SIZE)
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._words = memoryview(self._map).cast("q")

    def get(self) -> int | None:
        """Return the number, or None where no number was ever set."""
        number = self._words[_NUMBER]
        return number if number or self._words[_COMPLEMENT] else None

    def set(self, value: int) -> None:
        """Advance it, for every reader at once."""
        self._words[_NUMBER] = value
        self._words[_COMPLEMENT] = ~value

    def close(self) -> None:
        """Unmap it."""
        self._words.release()
        self._map.close()
