"""The heartbeats of a deployment's roles, by their names."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from headrace.telemetry.heartbeat import Beat, State, read_beat, write_beat
from headrace.telemetry.readiness import Standing, is_alive, judge

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NOBODY = 0
# Longer than a supervisor lets a role wait for its next start.
_FORGOTTEN_AFTER = 40.0


def beat_path(run_folder: Path, role: str) -> Path:
    """Return where a role beats."""
    return run_folder / f"{role}.beat"


def standings(run_folder: Path, roles: Iterable[str]) -> dict[str, Standing]:
    """Tell how the roles are now."""
    return {role: judge(read_beat(beat_path(run_folder, role))) for role in roles}


def last_beat(run_folder: Path, role: str) -> Beat | None:
    """Return the last that was heard of a role; None where neither a process of it nor a supervisor can be there."""
    beat = read_beat(beat_path(run_folder, role))
    if beat is None or (beat.age(time.monotonic()) > _FORGOTTEN_AFTER and not is_alive(beat.pid)):
        return None
    return beat


def has_started(run_folder: Path, role: str) -> bool:
    """Tell whether a role is through with its start; it may be blocked all the same."""
    beat = read_beat(beat_path(run_folder, role))
    return beat is not None and beat.state is State.STARTED


def note_start(run_folder: Path, role: str, pid: int) -> None:
    """Say that a role is about to start, in the place of what was said of an earlier start."""
    now = time.monotonic()
    write_beat(beat_path(run_folder, role), Beat(pid, State.STARTING, now, now))


def last_words(run_folder: Path, role: str, pid: int) -> str:
    """Return why a process ended, as far as it could say; nothing if it was killed."""
    beat = read_beat(beat_path(run_folder, role))
    is_its_own = beat is not None and beat.pid == pid and beat.state is State.ENDED
    return beat.reason if beat is not None and is_its_own else ""


def note_end(run_folder: Path, role: str, failures: int, reason: str) -> None:
    """Say that a role has ended so many times in a row, and why: its next process takes that over."""
    now = time.monotonic()
    write_beat(beat_path(run_folder, role), Beat(_NOBODY, State.ENDED, now, now, failures, reason))
