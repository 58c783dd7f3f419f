"""A watermark: a number that one process advances and others read, without system calls.

It tells readers how far they may read. It is never the truth after a crash: the files themselves are.
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

# The number and its complement, one machine word each. The complement is never 0 once a number was set.
_NUMBER, _COMPLEMENT = 0, 1
_SIZE = 16
_LARGEST = (1 << 63) - 1
_CHECK_SECONDS = 0.25


class Watermark:
    """One writer, any number of readers, in any process.

    Be careful: a number is stored by one instruction, through a view of machine words, so that readers see the old
    number or the new one, and a writer that is killed leaves one of them. `struct.pack_into` would store zeros first,
    and byte by byte.

    Where number and complement contradict each other, the smaller counts: a bit that flips on disk never claims more
    than was set. If the file is removed or replaced, the new one is opened within a moment.
    """

    def __init__(self, path: Path, *, create: bool = False) -> None:
        self._path = path
        self._create = create
        self._open()

    def get(self) -> int | None:
        """Return the number, or None where none was ever set."""
        if time.monotonic() >= self._check_at:
            self._reopen_if_replaced()
        # In the opposite order of `set`, so that a number being set isn't taken for a contradiction.
        complement, number = self._words[_COMPLEMENT], self._words[_NUMBER]
        if not complement and not number:
            return None
        return min(each for each in (number, ~complement, _LARGEST) if each >= 0)

    def set(self, value: int) -> None:
        """Advance it, for all readers at once."""
        if time.monotonic() >= self._check_at:
            self._reopen_if_replaced()
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
                # Allocate disk space now, or fail now: storing into a page without space is a SIGBUS.
                os.posix_fallocate(descriptor, 0, _SIZE)
            found = os.fstat(descriptor)
            if found.st_size < _SIZE:
                raise LogUnavailable(
                    f"{self._path} is truncated; the process that writes it repairs it when it starts"
                )
            self._map = mmap.mmap(descriptor, _SIZE)
        finally:
            os.close(descriptor)
        self._file = found.st_dev, found.st_ino
        self._words = memoryview(self._map).cast("q")
        self._check_at = time.monotonic() + _CHECK_SECONDS

    def _reopen_if_replaced(self) -> None:
        """Open the file that has the name now. If there is no whole one, keep what is mapped.

        Be careful: touching a page of a truncated file is a SIGBUS; an instance that may create the file repairs it.
        """
        self._check_at = time.monotonic() + _CHECK_SECONDS
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
