"""The list of jobs, in the store's database.

Who takes a job holds it for a while and keeps extending that while; when its process dies, the while ends and
somebody else takes the job up from what it remembers. Every write names the claim it is made under, so that a worker
that was only slow can't undo what its successor did.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import msgspec
from sqlalchemy import delete, insert, select, update

from headrace.database.patience import once, repeatable
from headrace.errors import Conflict, JobLost, NotFound
from headrace.jobs.job import Job, State
from headrace.jobs.tables import FAMILY, JOBS
from headrace.subscriptions.status import timestamp

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from sqlalchemy import ColumnElement, Connection, Row

    from headrace.database.companion import Companion
    from headrace.database.database import Database

_OPEN = (State.WAITING, State.RUNNING)
_TRIED_AT_ONCE = 8


class Jobs:
    """Threads and processes may share the database; calls block, so an event loop makes them in a thread."""

    def __init__(self, database: Database) -> None:
        self.database = database
        database.bring_up(FAMILY)

    # For those who ask

    @once
    def add(self, job: Job, along: Companion | None = None) -> Job:
        """Write a job down."""
        with self.database.writing(along) as connection:
            return add_job(connection, job)

    @repeatable
    def get(self, job_id: str) -> Job:
        """Return the job, or raise NotFound."""
        with self.database.reading() as connection:
            row = connection.execute(select(JOBS).where(JOBS.c.id == job_id)).first()
        if row is None:
            raise NotFound("job", job_id)
        return _from_row(row)

    @repeatable
    def list(
        self,
        *,
        kind: str | None = None,
        subscription: str | None = None,
        namespaces: Collection[str] | None = None,
        limit: int = 1000,
    ) -> list[Job]:
        """List jobs, of some namespaces or of all, the newest first."""
        query = select(JOBS).order_by(JOBS.c.asked.desc(), JOBS.c.id).limit(limit)
        for column, value in ((JOBS.c.kind, kind), (JOBS.c.subscription, subscription)):
            query = query if value is None else query.where(column == value)
        if namespaces is not None:
            query = query.where(JOBS.c.namespace.in_(sorted(namespaces)))
        with self.database.reading() as connection:
            return [_from_row(row) for row in connection.execute(query)]

    @once
    def cancel(self, job_id: str, along: Companion | None = None) -> Job:
        """End a job; whoever works on it finds out at its next step. Conflict where it has ended already."""
        with self.database.writing(along) as connection:
            changed = cancel_open(connection, JOBS.c.id == job_id)
        job = self.get(job_id)
        if not changed:
            raise Conflict(f"job {job_id} is {job.state} already")
        return job

    # For those who work

    @repeatable
    def take(self, hold_seconds: float) -> Claim | None:
        """Take the job that is due longest, and hold it for so many seconds; None where there is none."""
        now = time.time()
        free = JOBS.c.state.in_(_OPEN), JOBS.c.due <= now
        query = select(JOBS.c.id).where(*free).order_by(JOBS.c.due).limit(_TRIED_AT_ONCE)
        with self.database.reading() as connection:
            candidates = list(connection.execute(query).scalars())
        for job_id in candidates:
            token = str(uuid.uuid4())
            taken = update(JOBS).where(JOBS.c.id == job_id, *free)
            values = {"state": State.RUNNING, "claim": token, "due": now + hold_seconds}
            with self.database.writing() as connection:
                row = connection.execute(taken.values(values).returning(JOBS)).first()
            if row is not None:  # else somebody else was faster
                return Claim(self, _from_row(row), token)
        return None

    @repeatable
    def prune(self, ended_before: str) -> int:
        """Forget jobs that ended before a time; return how many."""
        with self.database.writing() as connection:
            return connection.execute(delete(JOBS).where(JOBS.c.ended < ended_before)).rowcount


class Claim:
    """The right to work on a job, for as long as it is extended. Every call raises JobLost once that is over."""

    def __init__(self, jobs: Jobs, job: Job, token: str) -> None:
        self.database = jobs.database
        self._token = token
        self.job = job

    def extend(self, seconds: float) -> None:
        """Hold the job for so many seconds from now."""
        self._write({"due": time.time() + seconds})

    def progress(self, part: float, note: str) -> None:
        """Tell how far the work is."""
        self._write({"progress": part, "note": note})

    def remember(self, memory: Mapping[str, Any], connection: Connection | None = None) -> None:
        """Keep what the work goes on from after a crash; with a connection, as a part of its transaction."""
        self._write({"memory": _encode(memory)}, connection)
        self.job = replace(self.job, memory=dict(memory))

    def finish(self, result: Mapping[str, Any], connection: Connection | None = None) -> None:
        """The work is done."""
        self._write(_done(result), connection)

    def fail(self, error: str) -> None:
        """The work can't be done."""
        self._write({"error": error} | _ended(State.FAILED))

    def release(self, seconds: float | None = 0.0, connection: Connection | None = None) -> None:
        """Let go of it, to be taken up again after so many seconds; never with None: somebody else ends it."""
        due = None if seconds is None else time.time() + seconds
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


def add_job(connection: Connection, job: Job) -> Job:
    """Write a job down, as a part of the connection's transaction."""
    connection.execute(insert(JOBS).values(_to_row(job) | {"due": time.time()}))
    return job


def cancel_open(connection: Connection, *which: ColumnElement[bool], reason: str | None = None) -> int:
    """Cancel the jobs that have not ended, of those that the conditions name; return how many."""
    still_open = update(JOBS).where(*which, JOBS.c.state.in_(_OPEN))
    return connection.execute(still_open.values(error=reason, **_ended(State.CANCELLED))).rowcount


def finish_running(connection: Connection, job_id: str, result: Mapping[str, Any]) -> None:
    """End a job that nobody works on any more; one that was cancelled stays so."""
    running = JOBS.c.id == job_id, JOBS.c.state == State.RUNNING
    connection.execute(update(JOBS).where(*running).values(_done(result)))


def _done(result: Mapping[str, Any]) -> dict[str, Any]:
    return {"progress": 1.0, "note": "", "result": _encode(result)} | _ended(State.DONE)


def _ended(state: State) -> dict[str, Any]:
    return {"state": state, "ended": timestamp(), "claim": None, "due": None}


def _encode(document: Mapping[str, Any]) -> str:
    return msgspec.json.encode(document).decode()


def _to_row(job: Job) -> dict[str, Any]:
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
    }


def _from_row(row: Row[Any]) -> Job:
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
