"""A number that one process advances and others watch, without system calls.

It tells readers how far they may read; it is never the truth after a crash: that is in the files themselves.
"""

from __future__ import annotations

import mmap
import os
import time
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import LogUnavailable

if TYPE_CHECKING:
    from pathlib import Path

# The number and its complement, each one machine word. The complement is never 0 once a number was set.
_NUMBER, _COMPLEMENT = 0, 1
_SIZE = 16
_LARGEST = (1 << 63) - 1
_LOOK_SECONDS = 0.25


class Mark:
    """One writer, any number of readers, in any process.

    Be careful: a number is stored by one instruction, through a view of machine words, so that readers see the
    old one or the new one and a writer that is killed leaves one of them. `struct.pack_into` would store zeros
    first, and byte by byte.

    Where number and complement contradict each other, the smaller counts: a bit that flips on the disk never claims
    more than was set. A file that somebody removed or replaced is noticed within a moment, and followed.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self._path = path
        self._create = create
        self._open()

    def get(self) -> int | None:
        """Return the number, or None where no number was ever set."""
        if time.monotonic() >= self._look_at:
            self._follow()
        # In the order opposite to `set`, so that a number on its way isn't taken for a contradiction.
        complement, number = self._words[_COMPLEMENT], self._words[_NUMBER]
        if not complement and not number:
            return None
        return min(each for each in (number, ~complement, _LARGEST) if each >= 0)

    def set(self, value: int) -> None:
        """Advance it, for every reader at once."""
        if time.monotonic() >= self._look_at:
            self._follow()
        self._words[_NUMBER] = value
        self._words[_COMPLEMENT] = ~value

    def close(self) -> None:
        """Unmap it."""
        self._words.release()
        self._map.close()

    def _open(self) -> None:
        descriptor = os.open(self._path, os.O_RDWR | (os.O_CREAT if self._create else 0), 0o644)
        try:
            if self._create:
                # Room on the disk now, or an error now: storing into a page that finds none is a SIGBUS.
                os.posix_fallocate(descriptor, 0, _SIZE)
            found = os.fstat(descriptor)
            if found.st_size < _SIZE:
                raise LogUnavailable(
                    f"{self._path} is cut off; the process that writes it mends it when it starts"
                )
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._file = found.st_dev, found.st_ino
        self._words = memoryview(self._map).cast("q")
        self._look_at = time.monotonic() + _LOOK_SECONDS

    def _follow(self) -> None:
        """Go over to the file that has the name now. Where there is none that is whole, keep what is mapped.

        Be careful: touching a page of a file that was cut off is a SIGBUS; who may create the file mends it first.
        """
        self._look_at = time.monotonic() + _LOOK_SECONDS
        if self._is_in_place():
            return
        words, mapped = self._words, self._map
        with suppress(OSError, LogUnavailable):
            self._open()
            words.release()
            mapped.close()

    def _is_in_place(self) -> bool:
        try:
            found = self._path.stat()
        except FileNotFoundError:
            return False
        return (found.st_dev, found.st_ino) == self._file and found.st_size >= _SIZE
