"""Events of the past on their way to one subscription: chunks that the pipeline appends and the dispatcher drains.

A chunk and how far the search has come are committed together, so that a crash neither repeats nor skips a chunk.
They lie in the database rather than in files, since that is where the two meet, on one machine or on several.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from sqlalchemy import delete, func, insert, select, update

from headrace.database.patience import once, repeatable
from headrace.database.work_queue import State
from headrace.events.batch import from_batch
from headrace.events.event import Event
from headrace.jobs.jobs import Jobs, done_values
from headrace.jobs.tables import CHUNKS, JOBS, REPLAYS

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from headrace.events.recorded import Recorded
    from headrace.jobs.jobs import Claim

MARK = "headracereplay"
"""The extension attribute that says which replay an event is delivered by."""


@dataclass(frozen=True, slots=True)
class Replay:
    """Events for one subscription, at most `rate` a second, with or without a mark that they are a replay.

    `found` events are there so far, and no more are to come once it is `complete`.
    """

    job: str
    subscription: str
    rate: float | None
    marked: bool
    found: int = 0
    complete: bool = False
    delivered: int = 0
    dead: int = 0

    def marking(self, recorded: Recorded) -> Recorded:
        """Return an event as this replay delivers it."""
        if not self.marked:
            return recorded
        event = recorded.event
        marked = Event({**event.attributes, MARK: self.job}, event.data, event.data_kind)
        return replace(recorded, arrival=replace(recorded.arrival, event=marked))


class Chunk(NamedTuple):
    """Events `first` to `first + rows` of a replay, at positions from `low` to `high`."""

    first: int
    rows: int
    low: int
    high: int

    @property
    def end(self) -> int:
        """The number of the event that follows."""
        return self.first + self.rows


class Replays:
    """Calls block. A replay's chunks are appended under the job's claim, and dropped by one dispatcher."""

    def __init__(self, jobs: Jobs) -> None:
        self.database = jobs.database

    @repeatable
    def find(self, job_id: str) -> Replay | None:
        """Return the replay of a job; None where it has not begun."""
        with self.database.reading() as connection:
            row = connection.execute(select(REPLAYS).where(REPLAYS.c.job == job_id)).first()
        return None if row is None else Replay(*row)

    def recorded_at(self, replay: Replay, positions: Collection[int]) -> dict[int, Recorded]:
        """Read single events of a replay, as it delivers them; what is kept no more is left out."""
        wanted = pa.array(list(positions), pa.int64())
        found: dict[int, Recorded] = {}
        for chunk in self.chunks(replay.job):
            if any(chunk.low <= position <= chunk.high for position in positions):
                events = self.events(replay.job, chunk)
                chosen = events.filter(pc.is_in(events["position"], value_set=wanted))
                found |= {each.position: replay.marking(each) for each in from_batch(chosen)}
        return found

    @repeatable
    def active_at(self, job_id: str, positions: Collection[int]) -> dict[int, Recorded]:
        """Read single events of a replay that is under way; of one that is over there is nothing left to deliver."""
        its = REPLAYS.c.job == job_id, JOBS.c.state == State.RUNNING
        with self.database.reading() as connection:
            row = connection.execute(select(REPLAYS).join(JOBS).where(*its)).first()
        return {} if row is None else self.recorded_at(Replay(*row), positions)

    # The pipeline's side

    @once
    def begin(self, claim: Claim, replay: Replay, memory: Mapping[str, Any]) -> None:
        """Open a replay of the claimed job."""
        with self.database.writing() as connection:
            claim.remember(memory, connection)
            fields = {column.name: getattr(replay, column.name) for column in REPLAYS.c}
            connection.execute(insert(REPLAYS).values(fields))

    @once
    def append(self, claim: Claim, events: pa.RecordBatch, memory: Mapping[str, Any]) -> None:
        """Add a chunk of events, in the schema of the log, and remember how far the search has come."""
        job_id, extremes = claim.job.id, pc.min_max(events["position"])
        with self.database.writing() as connection:
            claim.remember(memory, connection)
            grown = update(REPLAYS).where(REPLAYS.c.job == job_id)
            found = connection.execute(
                grown.values(found=REPLAYS.c.found + events.num_rows).returning(REPLAYS.c.found)
            ).scalar_one()
            row = {"low": extremes["min"].as_py(), "high": extremes["max"].as_py(), "events": _encode(events)}
            first = found - events.num_rows
            connection.execute(insert(CHUNKS).values(job=job_id, first=first, rows=events.num_rows, **row))

    @once
    def complete(self, claim: Claim) -> None:
        """Say that nothing more comes. The job ends when the dispatcher has delivered it all."""
        with self.database.writing() as connection:
            connection.execute(update(REPLAYS).where(REPLAYS.c.job == claim.job.id).values(complete=True))
            claim.release(None, connection)

    @repeatable
    def waiting_chunks(self, job_id: str) -> int:
        """Count the chunks that are not delivered yet."""
        query = select(func.count()).select_from(CHUNKS).where(CHUNKS.c.job == job_id)
        with self.database.reading() as connection:
            return int(connection.execute(query).scalar_one())

    # The dispatcher's side

    @repeatable
    def active(self) -> list[Replay]:
        """List the replays whose jobs have not ended."""
        query = select(REPLAYS).join(JOBS).where(JOBS.c.state == State.RUNNING).order_by(JOBS.c.asked)
        with self.database.reading() as connection:
            return [Replay(*row) for row in connection.execute(query)]

    @repeatable
    def chunks(self, job_id: str) -> list[Chunk]:
        """List the chunks that are still kept, in order."""
        columns = [CHUNKS.c[name] for name in Chunk._fields]
        query = select(*columns).where(CHUNKS.c.job == job_id).order_by(CHUNKS.c.first)
        with self.database.reading() as connection:
            return [Chunk(*row) for row in connection.execute(query)]

    @repeatable
    def events(self, job_id: str, chunk: Chunk) -> pa.RecordBatch:
        """Read a chunk."""
        query = select(CHUNKS.c.events).where(CHUNKS.c.job == job_id, CHUNKS.c.first == chunk.first)
        with self.database.reading() as connection:
            content = connection.execute(query).scalar_one()
        with pa.ipc.open_stream(content) as stream:
            return pa.concat_batches(stream)

    @repeatable
    def drop(self, job_id: str, chunks: Sequence[Chunk] | None = None) -> None:
        """Forget chunks whose events nobody needs any more: these, or all."""
        gone = delete(CHUNKS).where(CHUNKS.c.job == job_id)
        if chunks is not None:
            gone = gone.where(CHUNKS.c.first.in_([chunk.first for chunk in chunks]))
        with self.database.writing() as connection:
            connection.execute(gone)

    @repeatable
    def tell(self, job_id: str, delivered: int, dead: int) -> None:
        """Tell how many were acknowledged, and how many were given up."""
        with self.database.writing() as connection:
            connection.execute(
                update(REPLAYS).where(REPLAYS.c.job == job_id).values(delivered=delivered, dead=dead)
            )

    @repeatable
    def cancel(self, job_id: str, reason: str) -> None:
        """End the job of a replay that can't go on."""
        with self.database.writing() as connection:
            Jobs.end(connection, State.CANCELLED, JOBS.c.id == job_id, error=reason)

    @repeatable
    def finish(self, job_id: str, delivered: int, dead: int) -> None:
        """End the job of a complete replay, all of whose events were delivered or given up."""
        result = {"found": delivered + dead, "delivered": delivered, "dead": dead}
        with self.database.writing() as connection:
            connection.execute(
                update(REPLAYS).where(REPLAYS.c.job == job_id).values(delivered=delivered, dead=dead)
            )
            Jobs.end(connection, State.DONE, JOBS.c.id == job_id, **done_values(result))


def _encode(events: pa.RecordBatch) -> bytes:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, events.schema) as stream:
        stream.write_batch(events)
    content: bytes = sink.getvalue().to_pybytes()
    return content
