"""Keep the data folder private to its owner: it holds events, keys and answers of sinks."""

from __future__ import annotations

import logging
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_OTHERS = 0o077
_OWNER = 0o700
_log = logging.getLogger(__name__)


def keep_private(data: Path) -> None:
    """Set the umask of this process and its children, and remove other users' access to the data folder.

    Folders in it are closed to others too, which makes readable files in them unreachable.
    """
    os.umask(_OTHERS)
    data.mkdir(mode=_OWNER, parents=True, exist_ok=True)
    for folder in (data, *(each for each in data.iterdir() if each.is_dir() and not each.is_symlink())):
        if folder.stat().st_mode & _OTHERS:
            _close(folder)


def _close(folder: Path) -> None:
    try:
        folder.chmod(_OWNER)
    except PermissionError:  # it belongs to another user, as a volume of a cluster may
        _log.warning(
            "others may read %s, which isn't this user's: have its owner run chmod 700 on it",
            folder,
        )
    else:
        _log.info("%s was open to other users of this machine and has been closed to them", folder)
