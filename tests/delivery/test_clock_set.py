"""The machine's clock is set back or forward by an hour: no retry waits for it, and nothing is given up by it."""

import asyncio
import time

import pytest
from tests.delivery.harness import Harness, delivery_settings, eventually, sample
from tests.delivery.raw_sink import RawSink, answer
from tests.opening import opening

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.intake.expiry import Expiry
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.ledger.pull.events import Sources
from headrace.ledger.pull.leases import MessageLeases
from headrace.subscriptions.delivery.spec import Ordering

HOUR = 3600.0
NOTHING = Sources(lambda _: {}, lambda *_: {})


@pytest.fixture
def harness(tmp_path):
    harness = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db")
    yield harness
    harness.close()


@pytest.fixture
def set_clock(monkeypatch):
    real = time.time
    return lambda seconds: monkeypatch.setattr(time, "time", lambda: real() + seconds)


@pytest.mark.parametrize("ordering", [Ordering.ORDERED, Ordering.UNORDERED])
@pytest.mark.parametrize("breaker_failures", [0, 1])
async def test_set_back_it_delays_no_retry(harness, set_clock, ordering, breaker_failures):
    asked = 0

    def reply(_):
        nonlocal asked
        asked += 1
        if asked == 1:
            set_clock(-HOUR)
        return answer(503 if asked == 1 else 200)

    async with (
        RawSink(reply) as sink,
        harness.delivering(backoff_seconds=0.2, breaker_failures=breaker_failures, breaker_seconds=0.2),
    ):
        harness.send([sample(0), sample(1)], harness.subscribe(sink.url, {"ordering": ordering}))
        await eventually(harness.settled, seconds=30)
    assert set(sink.ids) == {"0", "1"}


@pytest.mark.parametrize("ordering", [Ordering.ORDERED, Ordering.UNORDERED])
async def test_set_back_before_a_start_it_delays_no_retry(harness, sink, ordering):
    """What is due later than anything is ever put off to is due now."""
    subscription = harness.subscribe(sink.url, {"ordering": ordering})
    (position,) = harness.send([sample(0)])
    late = Wait(Key(subscription, position), 1, CLOCK.time() + HOUR, "status 503")
    harness.ledger.commit(Changes([late], [], [], None))
    async with harness.delivering():
        await eventually(lambda: sink.ids == ["0"] and harness.settled(), seconds=30)


async def test_what_a_sink_asked_for_is_waited_for_over_a_start(harness, sink):
    """A sink may ask for two hours, where its subscription lets it: an hour ahead is nothing odd."""
    subscription = harness.subscribe(sink.url, {"retry_after_max": 2 * HOUR})
    (position,) = harness.send([sample(0)])
    late = Wait(Key(subscription, position), 1, CLOCK.time() + HOUR, "status 503")
    harness.ledger.commit(Changes([late], [], [], None))
    async with harness.delivering() as dispatcher:
        await eventually(lambda: dispatcher._subscribers.get(subscription))
        await dispatcher._retries._bring_forward()
        assert harness.ledger.due(subscription, "sink", CLOCK.time() + HOUR + 1, 9) == [late]
    assert not sink.ids


class Slow:
    """Takes its time, within what it has."""

    def __init__(self):
        self.begun = 0
        self.free = asyncio.Event()

    async def send(self, target, payloads):
        self.begun += 1
        await self.free.wait()
        return Outcome(Verdict.DONE)

    async def forget(self, owner):
        pass

    async def close(self):
        pass


async def test_set_forward_it_ends_no_attempt(harness, set_clock):
    slow = Slow()
    async with harness.delivering(slow, retries=0, timeout_seconds=60.0) as dispatcher:
        harness.send([sample(0)], harness.subscribe("http://127.0.0.1:1/"))
        await eventually(lambda: slow.begun)
        set_clock(HOUR)
        await dispatcher._queues.poll()
        slow.free.set()
        await eventually(harness.settled)
    assert harness.dead() == []


def put_mail(harness, subscription):
    row = {"subscription": subscription, "replay": "", "position": 0, "time": CLOCK.time(), "event": None}
    harness.ledger.put_mail([row])


async def test_set_forward_nothing_expires_that_waits_to_be_pulled(harness, set_clock, monkeypatch):
    subscription = harness.subscribe("http://127.0.0.1:1/")
    monkeypatch.setattr(type(harness.store.get(subscription)), "is_pulled", True)
    put_mail(harness, subscription)
    set_clock(HOUR)
    settings = delivery_settings(pull_retention_seconds=600.0)
    expiry = Expiry(harness.ledger, harness.store, NOTHING, WHOLE_OUTBOX, settings)
    assert expiry.clear() == 0


def test_set_back_a_consumer_holds_nothing_for_an_hour(harness, monkeypatch):
    """Another process handed it out, by a clock that was an hour ahead."""
    put_mail(harness, "a")
    with opening(MessageLeases, harness.database_url) as leases:
        real = CLOCK.time()
        with monkeypatch.context() as ahead:
            ahead.setattr("headrace.ledger.pull.leases.CLOCK", Ahead(real + HOUR))
            assert len(leases.take("a", "one", 30.0, 9)) == 1
            assert leases.take("a", "two", 30.0, 9) == []
        assert len(leases.take("a", "two", 30.0, 9)) == 1


class Ahead:
    def __init__(self, now):
        self._now = now

    def time(self):
        return self._now
