import asyncio
import errno
import os
import threading

import pytest
from tests.eventlog.arrivals import HUGE, arrival, arrivals, ids

from headrace.errors import LogUnavailable
from headrace.eventlog.local import committer
from headrace.eventlog.local.committer import GroupCommitter
from headrace.eventlog.local.writer import SegmentWriter
from headrace.telemetry.health import HEALTH, Status


class GatedWriter:
    """Stands in for the log: each commit waits until the test lets it pass, and may be told to fail."""

    def __init__(self):
        self.commits = []
        self.failure = None
        self.closed = False
        self._entered = threading.Semaphore(0)
        self._gate = threading.Semaphore(0)

    def append(self, batch):
        self._entered.release()
        assert self._gate.acquire(timeout=10)
        if self.failure is not None:
            raise self.failure
        first = sum(map(len, self.commits))
        self.commits.append([arrival.event.id for arrival in batch])
        return first

    def close(self):
        self.closed = True

    def let(self, commits=1):
        self._gate.release(commits)

    async def begun(self):
        """Wait until a commit is under way."""
        assert await asyncio.to_thread(self._entered.acquire, timeout=10)


@pytest.fixture
def gated():
    return GatedWriter()


def send(log, names, size=1):
    """A request that has been handed to the log, and waits."""
    return asyncio.create_task(log.append(arrivals(names), size))


async def settle_down():
    for _ in range(5):
        await asyncio.sleep(0)


async def test_many_appends_share_few_syncs(tmp_path, monkeypatch):
    syncs = []
    sync = os.fdatasync

    def counted(descriptor):
        syncs.append(descriptor)
        sync(descriptor)

    monkeypatch.setattr(os, "fdatasync", counted)
    log = GroupCommitter(SegmentWriter(tmp_path, HUGE), HUGE)
    sizes = [1 + number % 3 for number in range(200)]
    requests = [
        send(log, [f"{number}.{index}" for index in range(size)]) for number, size in enumerate(sizes)
    ]
    positions = await asyncio.gather(*requests)
    await log.close()
    kept = ids(tmp_path)
    for number, (position, size) in enumerate(zip(positions, sizes, strict=True)):
        assert kept[position : position + size] == [f"{number}.{index}" for index in range(size)]
    assert len(kept) == sum(sizes)
    assert 0 < len(syncs) < 10


async def test_what_comes_during_a_commit_goes_into_the_next(gated):
    log = GroupCommitter(gated, HUGE)
    first = send(log, "a")
    await gated.begun()
    others = [send(log, names) for names in ("bc", "d", "ef")]
    await settle_down()
    gated.let(2)
    assert await asyncio.gather(first, *others) == [0, 1, 3, 4]
    assert gated.commits == [["a"], list("bcdef")]
    await log.close()


async def test_a_commit_stays_within_its_size(gated, monkeypatch):
    monkeypatch.setattr(committer, "_MAX_COMMIT_BYTES", 100)
    log = GroupCommitter(gated, HUGE)
    sizes = {"a": 60, "b": 30, "c": 60, "d": 500, "e": 10, "f": 10}
    requests = [send(log, name, size) for name, size in sizes.items()]
    gated.let(4)
    assert await asyncio.gather(*requests) == [0, 1, 2, 3, 4, 5]
    assert gated.commits == [["a", "b"], ["c"], ["d"], ["e", "f"]]
    await log.close()


async def test_a_failed_commit_fails_its_requests_and_no_later_one(gated):
    log = GroupCommitter(gated, HUGE)
    gated.failure = LogUnavailable("the disk is full")
    doomed = [send(log, name) for name in "abc"]
    await gated.begun()
    later = send(log, "d")
    await settle_down()
    gated.let()
    outcomes = await asyncio.gather(*doomed, return_exceptions=True)
    assert [type(outcome) for outcome in outcomes] == [LogUnavailable] * 3
    await gated.begun()
    gated.failure = None
    gated.let()
    assert await later == 0
    await log.close()


async def test_an_unforeseen_error_reaches_the_requests_too(gated):
    log = GroupCommitter(gated, HUGE)
    gated.failure = ZeroDivisionError()
    gated.let()
    with pytest.raises(ZeroDivisionError):
        await log.append(arrivals("a"), 1)
    gated.failure = None
    gated.let()
    assert await log.append(arrivals("b"), 1) == 0
    await log.close()


async def test_a_full_disk_and_then_room(tmp_path, monkeypatch):
    log = GroupCommitter(SegmentWriter(tmp_path, HUGE), HUGE)
    assert await log.append(arrivals("a"), 1) == 0

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwritev", full)
        outcomes = await asyncio.gather(*(send(log, name) for name in "xyz"), return_exceptions=True)
        assert [type(outcome) for outcome in outcomes] == [LogUnavailable] * 3
    assert await asyncio.gather(*(send(log, name) for name in "bc")) == [1, 2]
    await log.close()
    assert ids(tmp_path) == ["a", "b", "c"]


async def test_no_more_waits_in_memory_than_allowed(gated):
    log = GroupCommitter(gated, 100)
    first = send(log, "a", 60)
    await gated.begun()
    second = send(log, "b", 40)
    await settle_down()
    for size in (1, 1000):
        with pytest.raises(LogUnavailable, match="100 bytes wait to be stored already"):
            await log.append(arrivals("x"), size)
    gated.let()
    assert await first == 0
    with pytest.raises(LogUnavailable, match="40 bytes wait"):
        await log.append(arrivals("x"), 61)
    third = send(log, "c", 60)
    await settle_down()
    gated.let(2)
    assert (await second, await third) == (1, 2)
    gated.let()
    assert await log.append(arrivals("d"), 1000) == 3, "whatever its size, one request fits an idle log"
    await log.close()
    assert gated.commits == [["a"], ["b"], ["c"], ["d"]]


async def test_the_room_comes_back_whatever_the_outcome(gated):
    log = GroupCommitter(gated, 100)
    for failure in (None, LogUnavailable("full"), None):
        gated.failure = failure
        gated.let()
        await asyncio.gather(send(log, "a", 100), return_exceptions=True)
    given_up = send(log, "b", 60)
    await gated.begun()
    kept = send(log, "c", 40)
    await settle_down()
    given_up.cancel()
    gated.let(2)
    await kept
    gated.let()
    assert await log.append(arrivals("d"), 100) == 4
    await log.close()


async def test_closing_finishes_what_was_accepted_and_refuses_more(gated):
    log = GroupCommitter(gated, HUGE)
    first = send(log, "a")
    await gated.begun()
    second = send(log, "b")
    await settle_down()
    closing = asyncio.create_task(log.close())
    await settle_down()
    with pytest.raises(LogUnavailable, match="shutting down"):
        await log.append(arrivals("x"), 1)
    assert not gated.closed
    gated.let(2)
    await closing
    assert (await first, await second) == (0, 1)
    assert gated.closed
    with pytest.raises(LogUnavailable, match="shutting down"):
        await log.append(arrivals("x"), 1)
    assert gated.commits == [["a"], ["b"]]


async def test_a_close_that_is_given_up_does_not_abandon_what_was_accepted(gated):
    log = GroupCommitter(gated, HUGE)
    request = send(log, "a")
    await gated.begun()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(log.close(), 0.01)
    gated.let()
    assert await asyncio.wait_for(request, 5) == 0
    await log.close()
    assert gated.closed


async def test_closing_lets_go_of_the_log(tmp_path, open_log):
    log = GroupCommitter(SegmentWriter(tmp_path, HUGE), HUGE)
    await log.append(arrivals("a"), 1)
    await log.close()
    assert open_log(tmp_path).end == 1


@pytest.mark.parametrize("when", ["waiting", "committing"])
async def test_giving_up_on_a_request_does_not_break_the_others(gated, when):
    log = GroupCommitter(gated, HUGE)
    first = send(log, "a")
    await gated.begun()
    requests = {name: send(log, name) for name in "bcd"}
    await settle_down()
    if when == "committing":
        gated.let()
        await gated.begun()
    requests["c"].cancel()
    await settle_down()
    gated.let(2)
    assert await first == 0
    assert await requests["b"] == 1
    assert await requests["d"] == 3, "what was accepted is stored, also for who doesn't wait for it"
    assert requests["c"].cancelled()
    assert gated.commits == [["a"], ["b", "c", "d"]]
    await log.close()


async def test_the_event_loop_does_not_wait_for_the_disk(gated):
    log = GroupCommitter(gated, HUGE)
    request = asyncio.create_task(log.append([arrival("a")], 1))
    await gated.begun()
    await asyncio.wait_for(asyncio.sleep(0), 1)
    assert not request.done()
    gated.let()
    await request
    await log.close()


async def test_the_register_of_health_has_a_failure_until_a_commit_succeeds(gated):
    """An attempt under way is no success: who isn't ready must not look so between two failures."""

    def status():
        return HEALTH.reports()["log"].status

    log = GroupCommitter(gated, HUGE)
    gated.failure = LogUnavailable("the disk is full")
    first = send(log, "a")
    await gated.begun()
    assert status() is Status.WORKING
    gated.let()
    with pytest.raises(LogUnavailable):
        await first
    assert "the disk is full" in HEALTH.reports()["log"].note
    second = send(log, "b")
    await gated.begun()
    assert status() is Status.BLOCKED
    gated.failure = None
    gated.let()
    await second
    assert status() is Status.WORKING
    await log.close()
    HEALTH.forget("log")
