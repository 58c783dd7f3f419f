"""The machine's clock is set back or forward by an hour: no retry waits for it, and nothing is given up by it."""

import asyncio
import time
from contextlib import closing

import pytest
from tests.delivery.office import Office, delivery_settings, eventually, sample
from tests.delivery.raw_sink import RawSink, answer

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.intake.expiry import Expiry
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.ledger.pull.consumers import Mailroom
from headrace.ledger.pull.events import Sources
from headrace.subscriptions.delivery.spec import Ordering

HOUR = 3600.0
NOTHING = Sources(lambda _: {}, lambda *_: {})


@pytest.fixture
def office(tmp_path):
    office = Office(tmp_path, f"sqlite:///{tmp_path}/delivery.db")
    yield office
    office.close()


@pytest.fixture
def set_clock(monkeypatch):
    real = time.time
    return lambda seconds: monkeypatch.setattr(time, "time", lambda: real() + seconds)


@pytest.mark.parametrize("ordering", [Ordering.ORDERED, Ordering.UNORDERED])
@pytest.mark.parametrize("breaker_failures", [0, 1])
async def test_set_back_it_delays_no_retry(office, set_clock, ordering, breaker_failures):
    asked = 0

    def reply(_):
        nonlocal asked
        asked += 1
        if asked == 1:
            set_clock(-HOUR)
        return answer(503 if asked == 1 else 200)

    async with (
        RawSink(reply) as sink,
        office.delivering(backoff_seconds=0.2, breaker_failures=breaker_failures, breaker_seconds=0.2),
    ):
        office.send([sample(0), sample(1)], office.subscribe(sink.url, {"ordering": ordering}))
        await eventually(office.settled, seconds=30)
    assert set(sink.ids) == {"0", "1"}


@pytest.mark.parametrize("ordering", [Ordering.ORDERED, Ordering.UNORDERED])
async def test_set_back_before_a_start_it_delays_no_retry(office, sink, ordering):
    """What is due later than anything is ever put off to is due now."""
    subscription = office.subscribe(sink.url, {"ordering": ordering})
    (position,) = office.send([sample(0)])
    late = Wait(Key(subscription, position), 1, CLOCK.time() + HOUR, "status 503")
    office.ledger.commit(Changes([late], [], [], None))
    async with office.delivering():
        await eventually(lambda: sink.ids == ["0"] and office.settled(), seconds=30)


async def test_what_a_sink_asked_for_is_waited_for_over_a_start(office, sink):
    """A sink may ask for two hours, where its subscription lets it: an hour ahead is nothing odd."""
    subscription = office.subscribe(sink.url, {"retry_after_max": 2 * HOUR})
    (position,) = office.send([sample(0)])
    late = Wait(Key(subscription, position), 1, CLOCK.time() + HOUR, "status 503")
    office.ledger.commit(Changes([late], [], [], None))
    async with office.delivering() as dispatcher:
        await eventually(lambda: dispatcher._subscribers.get(subscription))
        await dispatcher._waiting._bring_forward()
        assert office.ledger.due(subscription, "sink", CLOCK.time() + HOUR + 1, 9) == [late]
    assert not sink.ids


class Slow:
    """Takes its time, within what it has."""

    def __init__(self):
        self.begun = 0
        self.free = asyncio.Event()

    async def send(self, target, parcels):
        self.begun += 1
        await self.free.wait()
        return Outcome(Verdict.DONE)

    async def forget(self, owner):
        pass

    async def close(self):
        pass


async def test_set_forward_it_ends_no_attempt(office, set_clock):
    slow = Slow()
    async with office.delivering(slow, retries=0, timeout_seconds=60.0) as dispatcher:
        office.send([sample(0)], office.subscribe("http://127.0.0.1:1/"))
        await eventually(lambda: slow.begun)
        set_clock(HOUR)
        await dispatcher._lanes.sweep()
        slow.free.set()
        await eventually(office.settled)
    assert office.dead() == []


def put_mail(office, subscription):
    row = {"subscription": subscription, "replay": "", "position": 0, "time": CLOCK.time(), "event": None}
    office.ledger.put_mail([row])


async def test_set_forward_nothing_expires_that_waits_to_be_pulled(office, set_clock, monkeypatch):
    subscription = office.subscribe("http://127.0.0.1:1/")
    monkeypatch.setattr(type(office.store.get(subscription)), "is_pulled", True)
    put_mail(office, subscription)
    set_clock(HOUR)
    settings = delivery_settings(pull_retention_seconds=600.0)
    expiry = Expiry(office.ledger, office.store, NOTHING, WHOLE_OUTBOX, settings)
    assert expiry.clear() == 0


def test_set_back_a_consumer_holds_nothing_for_an_hour(office, monkeypatch):
    """Another process handed it out, by a clock that was an hour ahead."""
    put_mail(office, "a")
    with closing(Mailroom(office.database_url)) as mailroom:
        real = CLOCK.time()
        with monkeypatch.context() as ahead:
            ahead.setattr("headrace.ledger.pull.consumers.CLOCK", Ahead(real + HOUR))
            assert len(mailroom.take("a", "one", 30.0, 9)) == 1
            assert mailroom.take("a", "two", 30.0, 9) == []
        assert len(mailroom.take("a", "two", 30.0, 9)) == 1


class Ahead:
    def __init__(self, now):
        self._now = now

    def time(self):
        return self._now
