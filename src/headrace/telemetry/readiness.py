"""The readiness of a role, judged by its heartbeat, for `/readyz`, the supervisor and `headrace doctor`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from headrace.telemetry.health import Report, Status
from headrace.telemetry.heartbeat import Beat, State

if TYPE_CHECKING:
    from collections.abc import Mapping

# A process beats once a second; on a loaded machine it may take this long.
_SILENT_AFTER = 10.0
# A role that ended again and again has to last before it counts as ready: so long after the second end, and twice as
# long after each further one.
_PROBATION, _LONGEST_PROBATION = 10.0, 60.0


class RoleState(StrEnum):
    """The states of a role."""

    READY = "ready"
    STARTING = "starting"
    RESTARTING = "restarting"
    BLOCKED = "blocked"
    SILENT = "silent"


@dataclass(frozen=True, slots=True)
class RoleStatus:
    """A role's state, for how many seconds, what it did last, and why it isn't ready, with what to do about it."""

    state: RoleState
    seconds: float = 0.0
    did: str = ""
    problem: str | None = None
    parts: Mapping[str, Report] = field(default_factory=dict)

    @property
    def is_ready(self) -> bool:
        """Whether the role is working or waiting for work."""
        return self.state is RoleState.READY

    def document(self, now: float) -> dict[str, Any]:
        """Return it as a JSON object. `now` is of the monotonic clock."""
        problem = {} if self.problem is None else {"problem": self.problem}
        parts = {name: _part(report, now) for name, report in sorted(self.parts.items())}
        return {
            "state": self.state,
            "since": _wall_time(self.seconds),
            "did": self.did,
            **problem,
            "parts": parts,
        }


def judge(beat: Beat | None, now: float | None = None) -> RoleStatus:
    """Judge a role by its last heartbeat."""
    now = time.monotonic() if now is None else now
    if beat is None:
        return RoleStatus(
            RoleState.STARTING, problem="it has not been heard of yet; the log of the service says more"
        )
    if beat.state is State.ENDED:
        reason = beat.reason or "it has ended"
        return RoleStatus(RoleState.RESTARTING, beat.age(now), _last_done(beat), reason, beat.reports)
    if beat.age(now) > _SILENT_AFTER:
        return _silent(beat, now)
    return _troubled(beat, now) or _running(beat, now)


def _troubled(beat: Beat, now: float) -> RoleStatus | None:
    """Return the status of a running role with a part that is blocked or silent; None if there is no such part."""
    parts = beat.reports
    problems = {name: problem for name, each in parts.items() if (problem := each.problem(now)) is not None}
    if not problems:
        return None
    since = min(_faulty_since(parts[name]) for name in problems)
    return RoleStatus(RoleState.BLOCKED, max(0.0, now - since), _last_done(beat), _sentences(problems), parts)


def _running(beat: Beat, now: float) -> RoleStatus:
    """Return the status of a role without problems."""
    lasted, probation = max(0.0, now - beat.began), _probation(beat.failures)
    state, problem = RoleState.READY, None
    if probation > lasted:
        state = RoleState.RESTARTING
        problem = (
            f"it ended {beat.failures} times in a row, the last time because: {beat.reason}; "
            f"it runs again and counts as ready when it has lasted for {probation:.0f} s"
        )
    elif beat.state is State.STARTING:
        state, problem = RoleState.STARTING, "it is starting; wait for it"
    return RoleStatus(state, lasted, _last_done(beat), problem, beat.reports)


def _silent(beat: Beat, now: float) -> RoleStatus:
    """Return the status of a role that has fallen silent: its process is stuck, or has ended."""
    silence, did = beat.age(now), _last_done(beat)
    if not is_alive(beat.pid) or silence == float("inf"):
        problem = f"process {beat.pid} has ended; start it with `headrace up`, if no supervisor does"
        return RoleStatus(RoleState.RESTARTING, 0.0 if silence == float("inf") else silence, did, problem)
    problem = (
        f"process {beat.pid} is there, and nothing has been heard of it for {silence:.0f} s: it is stopped or gets no "
        "processor time; if that lasts, kill it, and it is started again"
    )
    return RoleStatus(RoleState.SILENT, silence, did, problem, beat.reports)


def is_alive(pid: int) -> bool:
    """Tell whether such a process exists; 0 stands for none."""
    if not pid:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _probation(failures: int) -> float:
    """One failure is an accident."""
    return min(_PROBATION * 2.0 ** (failures - 2), _LONGEST_PROBATION) if failures > 1 else 0.0


def _faulty_since(report: Report) -> float:
    return report.since if report.status is Status.BLOCKED else report.at


def _last_done(beat: Beat) -> str:
    """Return what was done last, or else why there was nothing to do."""
    by_status = [
        max(
            (each for each in beat.reports.values() if each.status is status),
            key=lambda each: each.at,
            default=None,
        )
        for status in (Status.WORKING, Status.IDLE)
    ]
    return next((each.note for each in by_status if each is not None), "")


def _sentences(problems: Mapping[str, str]) -> str:
    return "; ".join(f"{part}: {problem}" for part, problem in sorted(problems.items()))


def _part(report: Report, now: float) -> dict[str, Any]:
    silent = {"problem": problem} if (problem := report.problem(now)) is not None else {}
    since = _wall_time(max(0.0, now - report.since))
    return {"state": report.status, "since": since, "note": report.note, **silent}


def _wall_time(seconds_ago: float) -> str:
    then = time.time() - seconds_ago
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(then))
