"""Errors of Spark and of the jobs that it runs."""

from __future__ import annotations

from headrace.errors.base import HeadraceError


class JavaNotFound(HeadraceError):
    """Spark runs on Java 17 or newer and none was found."""

    code = "java-not-found"


class MasterUnreachable(HeadraceError):
    """No Spark master answers at the address; it may do so later."""

    code = "master-unreachable"

    def __init__(self, master: str, reason: str) -> None:
        super().__init__(
            f"no Spark master answers at {master} ({reason}); start it, or correct --master (pipeline.master)"
        )
        self.master = master


class VersionDiffers(HeadraceError):
    """A machine of the Spark cluster has another Headrace than the driver: what it finds might differ, too."""

    code = "version-differs"

    def __init__(self, machine: str, found: str, wanted: str) -> None:
        super().__init__(
            f"{machine} has version {found} of Headrace, and the driver {wanted}; install the same on every machine"
        )
        self.machine = machine


class JobLost(HeadraceError):
    """Who works on a job has to stop: it was cancelled, or somebody else works on it now."""

    code = "job-lost"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"job {job_id} was cancelled, or another process has taken it over")
