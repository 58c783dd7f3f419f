"""Copies of the index's files on a machine's own disk.

A base is mapped for as long as it is used. On a network file system that would end in SIGBUS when another machine
removes the file, and every page would come over the network. So each machine copies it once.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from headrace.errors import SnapshotRefused

if TYPE_CHECKING:
    from collections.abc import Callable

FOLDER_VARIABLE = "NODE_CACHE_OF_HEADRACE"
_KEPT = 2
_Opened = TypeVar("_Opened")


def open_cached(path: Path, open_file: Callable[[Path], _Opened]) -> _Opened:
    """Open a local copy of a file of the index, or the file itself if no folder for copies is set.

    A copy is never synced, so a power cut may leave half of it: one that is refused is copied again.
    """
    folder = os.environ.get(FOLDER_VARIABLE)
    if not folder:
        return open_file(path)
    try:
        return open_file(copy := _copied(path, Path(folder)))
    except SnapshotRefused:
        copy.unlink(missing_ok=True)
        return open_file(_copied(path, Path(folder)))


def _copied(path: Path, folder: Path) -> Path:
    """Return the copy, made if needed. Folder, time and size tell apart files of the same name."""
    origin = sha256(str(path.parent).encode()).hexdigest()[:16]
    written = path.stat()
    copy = folder / f"{origin}-{path.stem}-{written.st_mtime_ns}-{written.st_size}{path.suffix}"
    if not copy.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(f".{os.getpid()}")
        shutil.copyfile(path, unfinished)
        unfinished.rename(copy)
        _sweep(folder, origin, path.suffix)
    return copy


def _sweep(folder: Path, origin: str, suffix: str) -> None:
    """Remove older copies. A worker that maps one may go on: a local file lives until it is closed."""
    copies = sorted(folder.glob(f"{origin}-*{suffix}"), key=_made)
    for old in copies[:-_KEPT]:
        old.unlink(missing_ok=True)


def _made(copy: Path) -> int:
    try:
        return copy.stat().st_mtime_ns
    except FileNotFoundError:  # another worker was faster
        return 0
