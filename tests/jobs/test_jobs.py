import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
from hypothesis import settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, rule
from sqlalchemy import update
from tests.passing_time import pass_seconds
from tests.subscriptions.stores import memory_url

from headrace.clock import CLOCK
from headrace.database.database import Database
from headrace.database.work_queue import State
from headrace.errors import Conflict, JobLost, NotFound
from headrace.jobs.job import Job
from headrace.jobs.jobs import Jobs
from headrace.jobs.tables import JOBS

LONG, NONE = 60.0, 0.0


def test_a_job_comes_back_as_it_was_written(jobs):
    job = jobs.add(Job("seek", {"filter": {"cel": "true"}, "dryRun": True}, "s-1"))
    assert jobs.get(job.id) == job
    assert job.document() == {
        "id": job.id, "kind": "seek", "subscription": "s-1", "request": dict(job.request),
        "state": "waiting", "progress": 0.0, "asked": job.asked,
    }  # fmt: skip
    with pytest.raises(NotFound, match="there is no job 'x'"):
        jobs.get("x")


def test_jobs_are_listed_by_what_they_are_for(jobs):
    asked = [
        jobs.add(Job(kind, {}, of, asked=f"2026-01-01T00:00:0{n}.000Z"))
        for n, (kind, of) in enumerate([("seek", "a"), ("replay", "a"), ("replay", "b"), ("backtest", None)])
    ]
    assert jobs.list() == asked[::-1]
    assert jobs.list(kind="replay") == [asked[2], asked[1]]
    assert jobs.list(kind="replay", subscription="a") == [asked[1]]
    assert jobs.list(limit=2) == [asked[3], asked[2]]


def test_work_is_told_and_ends(jobs):
    job = jobs.add(Job("backtest", {}))
    claim = jobs.take(LONG)
    claim.progress(0.5, "half")
    assert (jobs.get(job.id).state, jobs.get(job.id).progress, jobs.get(job.id).note) == (
        "running",
        0.5,
        "half",
    )
    claim.finish({"count": 7})
    done = jobs.get(job.id)
    assert (done.state, done.progress, done.note, done.result) == (State.DONE, 1.0, "", {"count": 7})
    assert done.ended is not None
    assert jobs.take(LONG) is None


def test_what_fails_says_why_and_is_not_taken_again(jobs):
    job = jobs.add(Job("seek", {}))
    jobs.take(LONG).fail("no such subscription")
    assert (jobs.get(job.id).state, jobs.get(job.id).error) == (State.FAILED, "no such subscription")
    assert jobs.take(LONG) is None


def test_the_job_of_a_dead_worker_is_taken_up_with_its_memory(jobs):
    jobs.add(Job("replay", {}))
    dead = jobs.take(NONE)
    dead.remember({"next": {"0": 17}})
    successor = jobs.take(LONG)
    assert successor.job.memory == {"next": {"0": 17}}
    with pytest.raises(JobLost):
        dead.remember({"next": {"0": 3}})
    assert jobs.get(dead.job.id).memory == {"next": {"0": 17}}
    assert jobs.take(LONG) is None


def test_a_worker_that_lives_keeps_its_job(jobs):
    jobs.add(Job("replay", {}))
    claim = jobs.take(NONE)
    claim.extend(LONG)
    assert jobs.take(LONG) is None
    claim.release()
    assert jobs.take(LONG).job.id == claim.job.id


def test_a_released_job_waits_for_its_time_or_for_ever(jobs, monkeypatch):
    jobs.add(Job("replay", {}))
    jobs.take(LONG).release(30.0)
    assert jobs.take(LONG) is None
    pass_seconds(monkeypatch, 31.0)
    claim = jobs.take(LONG)
    claim.release(None)
    assert jobs.take(LONG) is None


@pytest.mark.parametrize("jump", [-3600.0, 3600.0])
def test_setting_the_machine_s_clock_neither_holds_a_job_back_nor_takes_it_away(jobs, monkeypatch, jump):
    jobs.add(Job("replay", {}))
    assert jobs.take(LONG) is not None
    waiting = jobs.add(Job("replay", {}))
    real = time.time
    monkeypatch.setattr(time, "time", lambda: real() + jump)
    assert jobs.take(LONG).job.id == waiting.id
    assert jobs.take(LONG) is None


def test_a_job_that_was_added_by_a_clock_since_set_back_is_taken(jobs):
    job = jobs.add(Job("replay", {}))
    with jobs.database.writing() as connection:
        connection.execute(update(JOBS).values(due=CLOCK.time() + 3600))
    assert jobs.take(LONG).job == replace(job, state=State.RUNNING)


def test_a_job_is_due_by_everybody_s_clock_when_it_is_added(jobs, monkeypatch):
    job = jobs.add(Job("replay", {}))
    pass_seconds(monkeypatch, -30.0)
    assert jobs.take(LONG).job.id == job.id


def test_jobs_that_are_due_alike_are_taken_in_the_order_in_which_they_were_asked_for(jobs):
    asked = [jobs.add(Job("seek", {}, asked=f"2026-01-01T00:00:0{n}.000Z")) for n in (2, 0, 1)]
    assert [jobs.take(LONG).job.id for _ in asked] == [asked[n].id for n in (1, 2, 0)]


def test_of_two_whose_clocks_differ_neither_takes_the_other_s_job_while_it_is_extended(jobs, monkeypatch):
    jobs.add(Job("replay", {}))
    claim = jobs.take(LONG)
    claim.extend(3600.0)  # as a process writes it whose clock is ahead by as much
    now = time.monotonic()
    for later in range(0, 300, 20):
        monkeypatch.setattr(time, "monotonic", lambda later=later: now + later)
        assert jobs.take(LONG) is None
        claim.extend(3600.0)
    for later in range(300, 360, 20):
        monkeypatch.setattr(time, "monotonic", lambda later=later: now + later)
        assert jobs.take(LONG) is None
    monkeypatch.setattr(time, "monotonic", lambda: now + 370)
    assert jobs.take(LONG) is not None, "nobody has extended it for as long as a job is held"


def test_a_cancelled_job_is_lost_to_its_worker(jobs):
    job = jobs.add(Job("backtest", {}))
    claim = jobs.take(LONG)
    assert jobs.cancel(job.id).state is State.CANCELLED
    for call in (lambda: claim.extend(LONG), lambda: claim.progress(0.1, ""), lambda: claim.finish({})):
        with pytest.raises(JobLost):
            call()
    with pytest.raises(Conflict, match="cancelled already"):
        jobs.cancel(job.id)
    with pytest.raises(NotFound):
        jobs.cancel("x")


def test_only_what_ended_long_ago_is_pruned(jobs):
    old, fresh = jobs.add(Job("seek", {})), jobs.add(Job("seek", {}))
    jobs.cancel(old.id)
    assert jobs.prune("2000-01-01T00:00:00.000Z") == 0
    assert jobs.prune("2999-01-01T00:00:00.000Z") == 1
    assert jobs.list() == [fresh]


def test_many_workers_never_take_the_same_job(jobs):
    added = {jobs.add(Job("seek", {"number": number})).id for number in range(40)}

    def work(_):
        taken = []
        while (claim := jobs.take(LONG)) is not None:
            taken.append(claim.job.id)
        return taken

    with ThreadPoolExecutor(4) as threads:
        taken = [each for found in threads.map(work, range(4)) for each in found]
    left = list(iter(lambda: jobs.take(LONG), None))  # a worker may lose all its candidates to others
    taken += [claim.job.id for claim in left]
    assert sorted(taken) == sorted(added)


class Claims(RuleBasedStateMachine):
    """At any time at most one claim can write; a cancelled or finished job takes no more writes."""

    claims = Bundle("claims")

    def __init__(self):
        super().__init__()
        self.context = memory_url()
        self.jobs = Jobs(Database(self.context.__enter__()))
        self.jobs.add(Job("replay", {}))
        self.holder = None
        self.memory = {}

    def teardown(self):
        self.jobs.database.close()
        self.context.__exit__(None, None, None)

    @rule(target=claims)
    def take(self):
        claim = self.jobs.take(NONE)
        ended = self.jobs.list()[0].state.is_end
        assert (claim is None) == ended
        self.holder = claim
        return claim

    @rule(claim=claims)
    def remember(self, claim):
        memory = {"n": self.memory.get("n", 0) + 1}
        if self.holder is not None and claim is self.holder:
            self.holder.remember(memory)
            self.memory = memory
        elif claim is not None:
            with pytest.raises(JobLost):
                claim.remember(memory)
        assert self.jobs.list()[0].memory == self.memory

    @rule(claim=consumes(claims))
    def finish(self, claim):
        if self.holder is not None and claim is self.holder:
            self.holder.finish({})
            self.holder = None

    @rule()
    def cancel(self):
        job = self.jobs.list()[0]
        if not job.state.is_end:
            self.jobs.cancel(job.id)
            self.holder = None


TestClaims = Claims.TestCase
TestClaims.settings = settings(max_examples=8, stateful_step_count=10, deadline=None)
