"""Disk space: recognise errors that mean there is none, and wait until there is some again."""

from __future__ import annotations

import errno
import logging
import os
import shutil
import tempfile
from typing import TYPE_CHECKING

from headrace.telemetry.health import HEALTH

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

_log = logging.getLogger(__name__)
_NUMBERS = frozenset({errno.ENOSPC, errno.EDQUOT})
# The messages of the kernel, which Java repeats, and of SQLite and PostgreSQL.
_WORDS = ("no space left on device", "disk quota exceeded", "database or disk is full")
_LOOK_SECONDS = 1.0


def is_disk_full(error: BaseException | None) -> bool:
    """Tell whether an error or one of its causes means that a disk or a quota is full."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        if isinstance(error, OSError) and error.errno in _NUMBERS:
            return True
        if any(words in str(error).lower() for words in _WORDS):
            return True
        error = error.__cause__ or error.__context__
    return False


def has_space(folder: Path, needed: int) -> bool:
    """Tell whether so many bytes can be written there, by allocating them for a moment: quotas count, too."""
    try:
        with tempfile.TemporaryFile(dir=folder) as probe:
            os.posix_fallocate(probe.fileno(), 0, needed)
    except OSError as error:
        return error.errno not in _NUMBERS
    return True


def await_space(part: str, folder: Path, needed: int, is_over: Callable[[float], bool]) -> None:
    """Wait until there is space, and report the part as blocked meanwhile.

    `is_over` waits so many seconds and returns whether to give up, like `threading.Event.wait`.
    """
    if has_space(folder, needed):
        return
    _log.error("%s waits: %s", part, describe(folder, needed))
    while not has_space(folder, needed):
        HEALTH.blocked(part, describe(folder, needed))
        if is_over(_LOOK_SECONDS):
            return
    HEALTH.working(part, f"found room again on the disk of {folder}")
    _log.info("%s goes on: there is room again on the disk of %s", part, folder)


def describe(folder: Path, needed: int) -> str:
    """Describe how full the disk is, and what to do."""
    try:
        free = f"{shutil.disk_usage(folder).free:,}"
    except OSError:
        free = "an unknown number of"
    return (
        f"the disk of {folder} is full: {free} bytes are free, {needed:,} are needed; "
        "free some space, and it goes on by itself"
    )
