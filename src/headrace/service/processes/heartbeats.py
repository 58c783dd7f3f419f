"""The heartbeats of a deployment's roles, by their names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.telemetry.heartbeat import Beat, State, read_beat, write_beat
from headrace.telemetry.readiness import RoleStatus, is_alive, judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NOBODY = 0
# Longer than a supervisor lets a role wait for its next start.
_FORGOTTEN_AFTER = 40.0


def beat_path(run_folder: Path, role: str) -> Path:
    """Return the path of a role's heartbeat file."""
    return run_folder / f"{role}.beat"


def role_statuses(run_folder: Path, roles: Iterable[str]) -> dict[str, RoleStatus]:
    """Return the present status of the roles."""
    return {role: judge(read_beat(beat_path(run_folder, role))) for role in roles}


def last_beat(run_folder: Path, role: str) -> Beat | None:
    """Return a role's last heartbeat; None if neither its process nor a supervisor can still be running."""
    beat = read_beat(beat_path(run_folder, role))
    if beat is None or (beat.age(time.monotonic()) > _FORGOTTEN_AFTER and not is_alive(beat.pid)):
        return None
    return beat


def has_started(run_folder: Path, role: str) -> bool:
    """Tell whether a role has finished starting; it may be blocked all the same."""
    beat = read_beat(beat_path(run_folder, role))
    return beat is not None and beat.state is State.STARTED


def note_start(run_folder: Path, role: str, pid: int) -> None:
    """Record that a role is about to start, replacing the record of an earlier start."""
    now = time.monotonic()
    write_beat(beat_path(run_folder, role), Beat(pid, State.STARTING, now, now))


def reason_of_end(run_folder: Path, role: str, pid: int) -> str:
    """Return why a process ended, as it reported itself; empty if it was killed."""
    beat = read_beat(beat_path(run_folder, role))
    is_its_own = beat is not None and beat.pid == pid and beat.state is State.ENDED
    return beat.reason if beat is not None and is_its_own else ""


def note_end(run_folder: Path, role: str, failures: int, reason: str) -> None:
    """Record how often in a row a role has ended, and why; its next process carries that on."""
    now = time.monotonic()
    write_beat(beat_path(run_folder, role), Beat(_NOBODY, State.ENDED, now, now, failures, reason))
