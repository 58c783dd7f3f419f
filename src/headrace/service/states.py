"""What each role says about itself, for `/readyz` and the supervisor."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

STARTING = "starting"
READY = "ready"


def announce(run_folder: Path, role: str, state: str) -> None:
    """Say what state this role is in."""
    path = run_folder / f"{role}.state"
    fresh = path.with_suffix(f".{os.getpid()}")
    fresh.write_text(state)
    fresh.replace(path)


def read_states(run_folder: Path, roles: Iterable[str]) -> dict[str, str]:
    """Return what the roles said last; a role that said nothing is starting."""
    return {role: _read(run_folder / f"{role}.state") for role in roles}


def _read(path: Path) -> str:
    try:
        return path.read_text()
    except FileNotFoundError:
        return STARTING
