"""Files of the index on a machine's own disk.

A base is mapped for as long as it is used. On a network's file system that would end in SIGBUS when another machine
removes the file, and every page would come over the network: so each machine copies it once.
"""

from __future__ import annotations

import os
import shutil
from hashlib import sha256
from pathlib import Path

FOLDER_VARIABLE = "NODE_CACHE_OF_HEADRACE"
_KEPT = 2


def on_this_machine(path: Path) -> Path:
    """Return where the file can be mapped: a copy of it where there is a folder for copies, or else itself."""
    folder = os.environ.get(FOLDER_VARIABLE)
    return _copied(path, Path(folder)) if folder else path


def _copied(path: Path, folder: Path) -> Path:
    origin = sha256(str(path.parent).encode()).hexdigest()[:16]
    copy = folder / f"{origin}-{path.name}"
    if not copy.exists():
        folder.mkdir(parents=True, exist_ok=True)
        unfinished = copy.with_suffix(f".{os.getpid()}")
        shutil.copyfile(path, unfinished)
        unfinished.rename(copy)
        _sweep(folder, origin, path.suffix)
    return copy


def _sweep(folder: Path, origin: str, suffix: str) -> None:
    """Remove older copies; whoever maps one goes on with it, since a local file lives until it is closed."""
    for old in sorted(folder.glob(f"{origin}-*{suffix}"))[:-_KEPT]:
        old.unlink(missing_ok=True)
