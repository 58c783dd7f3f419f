"""Errors that clients of the service raise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from headrace.errors.base import HeadraceError

if TYPE_CHECKING:
    from collections.abc import Mapping

_ENDS = {"failed": "failed", "cancelled": "was cancelled"}


class ServiceUnreachable(HeadraceError):
    """Nobody answers at the address that a client was given."""

    code = "service-unreachable"

    def __init__(self, url: str, reason: str) -> None:
        super().__init__(
            f"no Headrace answers at {url} ({reason}); start one with `headrace up`, or give its --url"
        )
        self.url = url


class ServiceRefused(HeadraceError):
    """The service answered with an error; `problem` is its problem document."""

    code = "service-refused"

    def __init__(self, status: int, problem: Mapping[str, Any]) -> None:
        super().__init__(str(problem.get("detail", f"the service answered with status {status}")))
        self.status = status
        self.problem = dict(problem)


class JobFailed(HeadraceError):
    """A job ended without what was asked for; `job` is its document."""

    code = "job-failed"

    def __init__(self, job: Mapping[str, Any]) -> None:
        reason = job.get("error") or "nobody said why"
        super().__init__(f"the {job['kind']} {job['id']} {_ENDS[job['state']]}: {reason}")
        self.job = dict(job)


class RedriveFailed(HeadraceError):
    """A redrive ended before everything was moved; `redrive` is its document."""

    code = "redrive-failed"

    def __init__(self, redrive: Mapping[str, Any]) -> None:
        reason = redrive.get("error") or f"{redrive['moved']} of {redrive['found']} deliveries were moved"
        super().__init__(f"the redrive {redrive['id']} {_ENDS[redrive['state']]}: {reason}")
        self.redrive = dict(redrive)
