"""The data folder is its owner's alone: it holds events, keys and what sinks answered."""

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
    """Let what this process and its children make be their owner's alone, and close the data folder to others.

    Its folders are closed where they are open; files in them that were open before can't be reached by others then.
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
        _log.warning("others may read %s, which isn't this user's: let its owner run chmod 700 on it", folder)
    else:
        _log.info("%s was open to others on this machine, and isn't any more", folder)
