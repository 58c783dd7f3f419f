"""The health of each part of this process: one register per process, from which `/readyz` is answered.

A part reports regularly. Silence is a fault too: a part that is silent for longer than it promised is stuck.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass
from enum import StrEnum

FOREVER = float("inf")


class Status(StrEnum):
    """The state of a part."""

    WORKING = "working"
    IDLE = "idle"
    DEGRADED = "degraded"
    BLOCKED = "blocked"


@dataclass(frozen=True, slots=True)
class Report:
    """The last report of a part, its time by the monotonic clock, and within how many seconds the next one follows.

    `since` is when its status last changed.
    """

    status: Status
    note: str
    at: float
    within: float
    since: float = 0.0

    def problem(self, now: float) -> str | None:
        """Return why the part is unhealthy; None if it is healthy."""
        if self.status is Status.BLOCKED:
            return self.note
        silence = now - self.at
        if silence > self.within:
            return f"nothing has been heard for {silence:.0f} s; the last was: {self.note}"
        return None


class Health:
    """The reports of all parts. Any thread may report and read.

    `within` is the promise to report again in so many seconds; make it several times the usual interval.
    """

    def __init__(self) -> None:
        self._reports: dict[str, Report] = {}
        self._lock = threading.Lock()
        self.is_started = False
        """Whether the process has finished starting."""
        self.has_turned = threading.Event()
        """Set when the process becomes or ceases to be blocked: the heartbeat needn't wait for its next turn."""

    def started(self) -> None:
        """Record the end of the start: from now on the parts tell how the process is."""
        self.is_started = True
        self.has_turned.set()

    def working(self, part: str, did: str, within: float = 15.0) -> None:
        """Report what was just done: a sentence such as "routed 512 events up to position 9000"."""
        self._put(part, Status.WORKING, did, within)

    def idle(self, part: str, reason: str, within: float = 15.0) -> None:
        """Report why there is nothing to do: "no events are waiting"."""
        self._put(part, Status.IDLE, reason, within)

    def degraded(self, part: str, reason: str) -> None:
        """Report what fails, and what to do about it, while events are still routed and delivered.

        The role stays ready, and the sentence is shown until the part's next report.
        """
        self._put(part, Status.DEGRADED, reason, FOREVER)

    def blocked(self, part: str, reason: str) -> None:
        """Report what keeps the part from working, and what to do about it. It stays blocked until its next report."""
        self._put(part, Status.BLOCKED, reason, FOREVER)

    def forget(self, part: str) -> None:
        """Expect nothing more of a part that has ended."""
        with self._lock:
            self._reports.pop(part, None)

    def reports(self) -> dict[str, Report]:
        """Return the last report of each part."""
        with self._lock:
            return dict(self._reports)

    def _put(self, part: str, status: Status, note: str, within: float) -> None:
        with self._lock:
            now, before = time.monotonic(), self._reports.get(part)
            was = None if before is None else before.status
            since = before.since if before is not None and was is status else now
            self._reports[part] = Report(status, note, now, within, since)
        if was is not status and Status.BLOCKED in (was, status):
            self.has_turned.set()


HEALTH = Health()
"""The register of this process."""
