import asyncio

import pytest
from tests.delivery.harness import delivery_settings, eventually, sample
from tests.delivery.raw_sink import RawSink, answer

from headrace.delivery.queue import breaker as breaker_module
from headrace.delivery.queue.breaker import Breaker


class Clock:
    def __init__(self):
        self.now = 1000.0

    def time(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(breaker_module, "CLOCK", clock)
    return clock


def breaker(**changes):
    wanted = {"breaker_failures": 3, "breaker_seconds": 1.0, "breaker_max_seconds": 5.0} | changes
    return Breaker(delivery_settings(**wanted))


def test_failures_in_a_row_open_it_and_a_success_starts_anew(clock):
    one = breaker()
    assert [one.failed(), one.failed(), one.succeeded(), one.failed(), one.failed()] == [False] * 5
    assert one.failed()
    assert one.is_open
    clock.now += 1.0
    assert not one.is_open


def test_each_failed_probe_doubles_the_time_up_to_the_bound(clock):
    one, times = breaker(), []
    for _ in range(2):
        one.failed()
    for _ in range(5):
        assert one.failed()
        times.append(one.until - clock.now)
        clock.now = one.until
    assert times == [1, 2, 4, 5, 5]
    assert one.succeeded()
    assert not one.until
    assert not one.failed(), "the count begins anew"


def test_attempts_begun_before_it_opened_change_nothing(clock):
    one = breaker()
    for _ in range(3):
        one.failed()
    until = one.until
    assert not one.failed()
    assert one.until == until


def test_it_can_be_left_out(clock):
    one = breaker(breaker_failures=0)
    assert not any(one.failed() for _ in range(100))


async def test_an_open_breaker_spares_the_sink_and_the_attempts(harness):
    """20 events, each with two attempts at most: without the breaker all would be dead at once."""
    down = asyncio.Event()
    down.set()
    async with (
        RawSink(lambda _: answer(503 if down.is_set() else 200)) as sink,
        harness.delivering(retries=4, breaker_failures=3, breaker_seconds=1.0, concurrency=1),
    ):
        subscription = harness.subscribe(sink.url)
        harness.send([sample(number) for number in range(20)], subscription)
        await eventually(lambda: len(sink.requests) == 3)
        await eventually(lambda: harness.ledger.count() == (20, 0))
        await eventually(lambda: len(sink.requests) == 4)
        await asyncio.sleep(0.2)
        assert len(sink.requests) == 4, "one probe, and silence again"
        waits = harness.ledger.due(subscription, "sink", 1e12, 100)
        assert sum(each.attempts for each in waits) in (3, 4), "the last may not be written yet"
        down.clear()
        await eventually(harness.settled)
        assert len(sink.requests) == 24
    assert harness.ledger.count() == (0, 0)


async def test_what_stays_wrong_opens_no_breaker(harness):
    async with RawSink(lambda _: answer(400)) as sink, harness.delivering(breaker_failures=2):
        harness.send([sample(number) for number in range(20)], harness.subscribe(sink.url))
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 20))
        assert len(sink.requests) == 20
