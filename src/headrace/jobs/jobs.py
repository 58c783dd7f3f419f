"""The list of jobs, in the store's database.

Who takes a job holds it for a while and keeps extending that while; when its process dies, the while ends and
somebody else takes the job up from what it remembers. Every write names the claim it is made under, so that a worker
that was only slow can't undo what its successor did.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, or_, select, update

from headrace.clock import CLOCK
from headrace.database.patience import once, repeatable
from headrace.database.work_queue import OPEN, ListedWorkQueue, State
from headrace.errors import JobLost
from headrace.jobs.job import Job
from headrace.jobs.tables import FAMILY, JOBS
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sqlalchemy import Connection, Row

    from headrace.database.database import Database

# So far apart may the clocks of the processes be that add jobs and take them.
_LENIENCE = 60.0


class Jobs(ListedWorkQueue[Job]):
    """The queue of jobs. A job is due when it is added, and again when whoever took it has not extended its claim."""

    table = JOBS
    noun = "job"
    now = staticmethod(timestamp)

    def __init__(self, database: Database) -> None:
        super().__init__(database)
        database.bring_up(FAMILY)
        self._misdated_since: dict[tuple[str, str | None, float], float] = {}

    @repeatable
    def take(self, hold_seconds: float) -> Claim | None:
        """Take the job that is due longest, and hold it for so many seconds; None where there is none."""
        now = CLOCK.time()
        until = now + hold_seconds
        is_due = or_(JOBS.c.due <= now, JOBS.c.id.in_(self._misdated(until + _LENIENCE, hold_seconds)))
        order = JOBS.c.due, JOBS.c.asked
        taken = self._take(1, order, JOBS.c.state.in_(OPEN), is_due, state=State.RUNNING, due=until)
        return next((Claim(self.database, self.from_row(row), row.claim) for row in taken), None)

    def _misdated(self, latest: float, hold_seconds: float) -> list[str]:
        """Return the jobs that are due later than anybody puts one off: another clock wrote that, ahead of ours.

        Of those that somebody holds only such as were not extended for as long as a job is held, by this process's
        own time: whoever took them is gone.
        """
        columns = JOBS.c.id, JOBS.c.claim, JOBS.c.due
        with self.database.reading() as connection:
            found = connection.execute(select(*columns).where(JOBS.c.due > latest)).all()
        now = time.monotonic()
        seen = [(row.id, row.claim, row.due) for row in found]
        self._misdated_since = {each: self._misdated_since.get(each, now) for each in seen}
        return [
            job
            for (job, claim, _), since in self._misdated_since.items()
            if claim is None or now - since >= hold_seconds
        ]

    @repeatable
    def prune(self, ended_before: str) -> int:
        """Forget jobs that ended before a time; return how many."""
        with self.database.writing() as connection:
            return connection.execute(delete(JOBS).where(JOBS.c.ended < ended_before)).rowcount

    @staticmethod
    def to_row(job: Job) -> dict[str, Any]:
        """Return the row of a new job."""
        return {
            "id": job.id,
            "kind": job.kind,
            "subscription": job.subscription,
            "request": _encode(job.request),
            "state": job.state,
            "progress": job.progress,
            "note": job.note,
            "memory": _encode(job.memory),
            "asked": job.asked,
            "namespace": job.namespace,
            "due": 0.0,  # now, by everybody's clock
        }

    @staticmethod
    def from_row(row: Row[Any]) -> Job:
        """Read a row."""
        return Job(
            id=row.id,
            kind=row.kind,
            subscription=row.subscription,
            request=msgspec.json.decode(row.request),
            state=State(row.state),
            progress=row.progress,
            note=row.note,
            result=None if row.result is None else msgspec.json.decode(row.result),
            error=row.error,
            memory=msgspec.json.decode(row.memory),
            asked=row.asked,
            ended=row.ended,
            namespace=row.namespace,
        )


class Claim:
    """The right to work on a job, for as long as it is extended. Every call raises JobLost once that is over."""

    def __init__(self, database: Database, job: Job, token: str) -> None:
        self.database = database
        self._token = token
        self.job = job

    def extend(self, seconds: float) -> None:
        """Hold the job for so many seconds from now."""
        self._write({"due": CLOCK.time() + seconds})

    def progress(self, part: float, note: str) -> None:
        """Tell how far the work is."""
        self._write({"progress": part, "note": note})

    def remember(self, memory: Mapping[str, Any], connection: Connection | None = None) -> None:
        """Keep what the work goes on from after a crash; with a connection, as a part of its transaction."""
        self._write({"memory": _encode(memory)}, connection)
        self.job = replace(self.job, memory=dict(memory))

    def finish(self, result: Mapping[str, Any], connection: Connection | None = None) -> None:
        """The work is done."""
        self._write(Jobs.end_values(State.DONE) | done_values(result), connection)

    def fail(self, error: str) -> None:
        """The work can't be done."""
        self._write(Jobs.end_values(State.FAILED) | {"error": error})

    def release(self, seconds: float | None = 0.0, connection: Connection | None = None) -> None:
        """Let go of it, to be taken up again after so many seconds; never with None: somebody else ends it."""
        due = None if seconds is None else CLOCK.time() + seconds
        self._write({"due": due, "claim": None}, connection)

    def _write(self, values: Mapping[str, Any], connection: Connection | None = None) -> None:
        if connection is None:
            return self._commit(values)
        held = JOBS.c.id == self.job.id, JOBS.c.claim == self._token, JOBS.c.state == State.RUNNING
        if not connection.execute(update(JOBS).where(*held).values(values)).rowcount:
            raise JobLost(self.job.id)
        return None

    @once
    def _commit(self, values: Mapping[str, Any]) -> None:
        with self.database.writing() as own:
            self._write(values, own)


def done_values(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of the row of a job that is done, besides those of its end."""
    return {"progress": 1.0, "note": "", "result": _encode(result)}


def _encode(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode()
