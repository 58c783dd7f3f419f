"""What a job is done with, and how it tells of its progress."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable

    from headrace.events.positions import LogPosition
    from headrace.jobs.job import Job
    from headrace.jobs.jobs import Claim, Jobs
    from headrace.jobs.replays import Replays
    from headrace.pipeline.history.history import History
    from headrace.subscriptions.store.store import Store

    Handler: TypeAlias = "Callable[[JobRun], None]"

_TELL_SECONDS = 0.5


@dataclass(frozen=True, slots=True)
class JobResources:
    """What all jobs share. A history is a view of one moment: each job takes a new one."""

    history: Callable[[], History]
    end_of_log: Callable[[], LogPosition]
    store: Store
    jobs: Jobs
    replays: Replays
    blame: Callable[[Exception], Exception] = lambda error: error
    """Says what is wrong with the archive where that made Spark fail."""


class JobRun:
    """One job under way, in one thread. Whatever it calls may raise JobLost, which ends it."""

    def __init__(self, claim: Claim, tools: JobResources) -> None:
        self.claim = claim
        self.tools = tools
        self._next_telling = 0.0

    @property
    def job(self) -> Job:
        """The job, with what it remembers."""
        return self.claim.job

    @property
    def subscription_id(self) -> str:
        """The subscription that the job is for."""
        assert self.job.subscription is not None  # noqa: S101  such jobs are made for one
        return self.job.subscription

    def tell(self, part: float, note: str = "") -> None:
        """Tell how far the work is, from 0 to 1; often is fine, since only some are written."""
        now = time.monotonic()
        if now >= self._next_telling or part >= 1:
            self._next_telling = now + _TELL_SECONDS
            self.claim.progress(part, note)
