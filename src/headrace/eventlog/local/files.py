"""Files that are written in full or not at all, and folders with one writer."""

from __future__ import annotations

import fcntl
import logging
import os
import zlib
from contextlib import suppress
from typing import TYPE_CHECKING

from headrace.errors import LogLocked

if TYPE_CHECKING:
    from pathlib import Path

_log = logging.getLogger(__name__)
TEMPORARY = ".tmp"
_CHECKSUM = 9
"""Eight hexadecimal digits and the end of their line."""


def sync_folder(folder: Path) -> None:
    """Make renames and removals in the folder durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def write_atomically(path: Path, content: bytes | memoryview) -> None:
    """Create the file with this content, atomically and durably: readers see all of it or nothing."""
    temporary = path.with_name(path.name + TEMPORARY)
    try:
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        temporary.rename(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def write_checked(path: Path, content: bytes) -> None:
    """Like `write_atomically`, with a checksum before the content that `read_checked` verifies."""
    write_atomically(path, b"%08x\n%b" % (zlib.crc32(content), content))


def read_checked(path: Path) -> bytes | None:
    """Return what `write_checked` wrote; None where the file is missing or damaged."""
    try:
        stored = path.read_bytes()
    except FileNotFoundError:
        return None
    content = stored[_CHECKSUM:]
    if stored[:_CHECKSUM] != b"%08x\n" % zlib.crc32(content):
        _log.warning("%s is damaged (its checksum is wrong) and counts as missing", path)
        return None
    return content


def copy_permissions(folder: Path, path: Path) -> None:
    """Give a file or folder the permissions of the folder it is in, which several machines may share."""
    with suppress(OSError):  # its file system may have no permissions
        path.chmod(folder.stat().st_mode & (0o777 if path.is_dir() else 0o666))


def remove_temporaries(folder: Path) -> None:
    """Remove what a crash left half-written. Only the folder's one writer may call this."""
    for leftover in folder.glob(f"*{TEMPORARY}"):
        leftover.unlink()


class WriterLock:
    """A lock held for as long as the process lives: the kernel releases it even after SIGKILL."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / "LOCK"
        self._file = self._path.open("ab+", buffering=0)
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().decode("ascii", "replace").strip() or "unknown"
            self._file.close()
            raise LogLocked(folder, f"process {holder}") from None
        with suppress(OSError):  # a disk may be full; the name is only for the error above
            self._file.truncate(0)
            self._file.write(str(os.getpid()).encode())

    @property
    def is_removed(self) -> bool:
        """Whether the file is gone or another one is in its place, so that the lock keeps nobody out any more."""
        try:
            return not os.path.samestat(self._path.stat(), os.fstat(self._file.fileno()))
        except FileNotFoundError:
            return True

    def release(self) -> None:
        """Let another process write."""
        self._file.close()
