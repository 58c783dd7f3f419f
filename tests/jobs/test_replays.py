import pyarrow as pa
import pytest

from headrace.database.work_queue import State
from headrace.errors import JobLost
from headrace.events.batch import from_batch, to_batch
from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.jobs.job import Job
from headrace.jobs.replays import Chunk, Replay, Replays

LONG = 60.0


def events(first: int, count: int) -> pa.RecordBatch:
    made = [
        Event({"specversion": "1.0", "id": str(n), "source": "/s", "type": "t"}, b"%d" % n)
        for n in range(count)
    ]
    return to_batch([Arrival(event, "default", "default") for event in made], first, 1_000_000)


@pytest.fixture
def replays(jobs):
    return Replays(jobs)


@pytest.fixture
def claim(jobs, replays):
    jobs.add(Job("replay", {}, "s"))
    claim = jobs.take(LONG)
    replays.begin(claim, Replay(claim.job.id, "s", rate=5.0, marked=True), {"next": {"0": 0}})
    return claim


def test_chunks_follow_one_another_with_what_the_search_remembers(jobs, replays, claim):
    replays.append(claim, events(100, 3), {"next": {"0": 103}})
    replays.append(claim, events(200, 2), {"next": {"0": 202}})
    job_id = claim.job.id
    assert jobs.get(job_id).memory == {"next": {"0": 202}}
    assert replays.active() == [Replay(job_id, "s", 5.0, marked=True, found=5)]
    assert replays.chunks(job_id) == [Chunk(0, 3, 100, 102), Chunk(3, 2, 200, 201)]
    read = [each for chunk in replays.chunks(job_id) for each in from_batch(replays.events(job_id, chunk))]
    assert [each.position for each in read] == [100, 101, 102, 200, 201]
    assert [each.event.data for each in read] == [b"0", b"1", b"2", b"0", b"1"]


def test_whoever_lost_the_job_appends_nothing(jobs, replays, claim):
    jobs.cancel(claim.job.id)
    with pytest.raises(JobLost):
        replays.append(claim, events(100, 3), {"next": {"0": 103}})
    assert replays.chunks(claim.job.id) == []
    assert replays.find(claim.job.id).found == 0
    assert replays.active() == []


def test_a_complete_replay_is_left_to_the_dispatcher(jobs, replays, claim):
    replays.append(claim, events(100, 3), {})
    replays.complete(claim)
    job_id = claim.job.id
    assert jobs.take(LONG) is None
    assert [each.complete for each in replays.active()] == [True]
    replays.tell(job_id, 2, 0)
    assert (replays.find(job_id).delivered, replays.find(job_id).dead) == (2, 0)
    replays.drop(job_id, replays.chunks(job_id))
    assert replays.waiting_chunks(job_id) == 0
    replays.finish(job_id, 2, 1)
    job = jobs.get(job_id)
    assert (job.state, job.result) == (State.DONE, {"found": 3, "delivered": 2, "dead": 1})
    assert replays.active() == []


def test_a_job_takes_its_chunks_with_it(jobs, replays, claim):
    replays.append(claim, events(100, 3), {})
    jobs.cancel(claim.job.id)
    jobs.prune("2999-01-01T00:00:00.000Z")
    assert replays.find(claim.job.id) is None
    assert replays.waiting_chunks(claim.job.id) == 0
