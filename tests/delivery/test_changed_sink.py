"""A subscription loses its sink or gets one while its deliveries are anywhere: under way, queued, being read, put off.

Gates hold each of them where it is until the change has been followed, so that no test depends on who is quicker.
"""

import asyncio
import time
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import select
from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.intake.test_mailboxes import drain, expiry
from tests.delivery.raw_sink import answer
from tests.delivery.test_replays import Past
from tests.opening import opening

from headrace.delivery.intake import mailboxes
from headrace.delivery.retry.retries import next_look
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.ledger.pull.leases import MessageLeases
from headrace.ledger.schedule import HELD
from headrace.ledger.tables import WAITING
from headrace.subscriptions.delivery.spec import Ordering
from headrace.subscriptions.subscription import parse_subscription

ORDERED = {"ordering": Ordering.ORDERED}
EVENTS, FIRST = 7, 1000


@pytest.fixture
def harness(tmp_path):
    harness = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db", patience=20.0)
    yield harness
    harness.close()


@pytest.fixture
def leases(harness):
    with opening(MessageLeases, harness.database_url, patience=20.0) as opened:
        yield opened


class Gate:
    """Holds whoever comes until it is opened."""

    def __init__(self):
        self.held = 0
        self._open = asyncio.Event()

    def open(self):
        self._open.set()

    async def pass_through(self):
        self.held += 1
        await self._open.wait()

    def before(self, call):
        """Return an asynchronous call that waits here first."""

        async def gated(*arguments):
            await self.pass_through()
            return await call(*arguments)

        return gated

    async def then(self, last_answer):
        """Answer a request only when the gate is open."""
        await self.pass_through()
        yield last_answer


def send(harness, numbers, *subscriptions):
    return harness.send([sample(number) for number in numbers], *subscriptions)


def lose_sink(harness, subscription):
    harness.store.replace(replace(parse_subscription({"protocol": "PULL"}), id=subscription))


def give_sink(harness, subscription, sink):
    harness.store.replace(replace(parse_subscription({"sink": sink.url + "/b"}), id=subscription))


async def follow(dispatcher):
    """Let the dispatcher know of what was changed, before anything else happens."""
    await dispatcher._changes.refresh()


def dues(harness):
    with harness.ledger.database.engine.connect() as connection:
        return dict(connection.execute(select(WAITING.c.position, WAITING.c.due)).all())


async def begin(harness, dispatcher, subscription):
    """Deliver one event, and wait until the queue knows that the ledger holds nothing: what comes goes into it."""
    send(harness, [FIRST], subscription)
    await eventually(harness.settled)
    queue = dispatcher._queues.find(subscription)
    await eventually(lambda: not queue.state.backlog and not queue.state.is_looking)


def all_held(harness):
    return set(dues(harness).values()) == {HELD} and len(dues(harness)) == EVENTS


def is_drained(harness):
    return harness.ledger.count()[0] == 0


@pytest.mark.parametrize("spec", [{}, ORDERED])
async def test_what_is_read_from_the_ledger_at_that_moment_is_pulled(harness, sink, leases, spec):
    sink.reply = lambda _: answer(503)
    one = harness.subscribe(sink.url, spec)
    async with harness.crashing(retries=1000):
        positions = send(harness, range(EVENTS), one)
        await eventually(lambda: harness.ledger.count()[0] > 0)
    async with harness.delivering(retries=1000) as dispatcher:
        gate, events = Gate(), dispatcher._events
        events.payloads = gate.before(events.payloads)
        await eventually(lambda: gate.held)
        lose_sink(harness, one)
        await follow(dispatcher)
        gate.open()
        await eventually(lambda: leases.fill(one).waiting == EVENTS)
        assert sorted(drain(leases, one)) == list(positions)
        await eventually(harness.settled)


@pytest.mark.parametrize("spec", [{}, ORDERED])
async def test_what_is_read_from_the_outbox_at_that_moment_is_pulled(harness, sink, leases, spec):
    one = harness.subscribe(sink.url, spec)
    async with harness.delivering() as dispatcher:
        gate, events = Gate(), dispatcher._events
        events.read_log = gate.before(events.read_log)
        positions = send(harness, range(EVENTS), one)
        await eventually(lambda: gate.held)
        lose_sink(harness, one)
        await follow(dispatcher)
        gate.open()
        await eventually(lambda: leases.fill(one).waiting == EVENTS)
        assert drain(leases, one) == list(positions)
        await eventually(harness.settled)
    assert not sink.requests


@pytest.mark.parametrize("spec", [{}, ORDERED])
@pytest.mark.parametrize(("status", "pulled"), [(503, [0]), (200, [])])
async def test_a_retry_under_way_is_pulled_only_if_it_fails(harness, sink, leases, spec, status, pulled):
    """It waits in the ledger, due, all the while: it must not be handed out twice, nor after the sink took it."""
    gate = Gate()
    sink.reply = lambda _: answer(503) if len(sink.requests) == 1 else gate.then(answer(status))
    one = harness.subscribe(sink.url, spec)
    async with harness.delivering(retries=1000, timeout_seconds=60.0) as dispatcher:
        send(harness, [0], one)
        await eventually(lambda: gate.held)
        lose_sink(harness, one)
        await follow(dispatcher)
        send(harness, [1], one)  # the mailbox has it, and so everything that was looked at before
        await eventually(lambda: leases.fill(one).waiting)
        await asyncio.sleep(0.1)
        assert drain(leases, one) == [1]
        gate.open()
        await eventually(harness.settled)
        assert drain(leases, one) == pulled


@pytest.mark.parametrize("spec", [{}, ORDERED])
async def test_a_first_attempt_that_the_ledger_knows_of_is_pulled_when_it_fails(harness, sink, leases, spec):
    gate = Gate()
    sink.reply = lambda request: answer(200) if request["ce-id"] == str(FIRST) else gate.then(answer(503))
    one = harness.subscribe(sink.url, spec | {"concurrency": 1})
    settings = {"memory_seconds": 0.05, "timeout_seconds": 60.0, "backoff_seconds": 3600.0}
    async with harness.delivering(**settings, backoff_max_seconds=3600.0) as dispatcher:
        await begin(harness, dispatcher, one)
        positions = send(harness, range(EVENTS), one)
        await eventually(partial(all_held, harness))
        lose_sink(harness, one)
        await follow(dispatcher)
        await eventually(lambda: leases.fill(one).waiting == EVENTS - 1)
        gate.open()
        await eventually(lambda: leases.fill(one).waiting == EVENTS)
        assert sorted(drain(leases, one)) == list(positions)
        await eventually(harness.settled)
        assert dispatcher._occupancy.queued == 0


@pytest.mark.parametrize("spec", [{}, ORDERED])
@pytest.mark.parametrize("status", [200, 503])
async def test_a_sink_that_is_lost_and_found_gets_what_was_under_way_first(
    harness, sink, leases, spec, status
):
    gate = Gate()
    sink.reply = lambda _: gate.then(answer(status)) if len(sink.requests) == 2 else answer(200)
    one = harness.subscribe(sink.url, spec | {"concurrency": 1})
    async with harness.delivering(memory_seconds=0.05, timeout_seconds=60.0) as dispatcher:
        await begin(harness, dispatcher, one)
        send(harness, range(EVENTS), one)
        await eventually(partial(all_held, harness))
        lose_sink(harness, one)
        await follow(dispatcher)
        await eventually(lambda: leases.fill(one).waiting == EVENTS - 1)
        give_sink(harness, one, sink)
        await follow(dispatcher)
        assert expiry(harness).clear() == EVENTS - 1
        gate.open()
        await eventually(harness.settled)
    taken = [int(each) for each in sink.ids[1 + (status == 503) :]]
    assert sorted(taken) == list(range(EVENTS))
    assert not spec or taken == list(range(EVENTS))


@pytest.mark.parametrize("has_lane", [True, False])
async def test_no_consumer_waits_for_the_backoff_of_a_sink_that_is_gone(harness, sink, leases, has_lane):
    sink.reply = lambda _: answer(503)
    one = harness.subscribe(sink.url, ORDERED)
    settings = {"backoff_seconds": 3600.0, "backoff_max_seconds": 3600.0, "breaker_failures": 1}
    async with harness.delivering(**settings, breaker_seconds=3600.0) as dispatcher:
        positions = send(harness, range(EVENTS), one)
        await eventually(lambda: harness.ledger.count()[0] == EVENTS)
        if has_lane:
            lose_sink(harness, one)
            await eventually(lambda: leases.fill(one).waiting == EVENTS)
            await eventually(lambda: dispatcher._queues.find(one).is_idle)
    if not has_lane:
        lose_sink(harness, one)
        async with harness.delivering(**settings):
            await eventually(lambda: leases.fill(one).waiting == EVENTS)
    assert drain(leases, one) == list(positions)


async def test_a_replay_that_waits_for_its_lane_goes_on_in_the_mailbox(harness, sink, leases):
    gate = Gate()
    sink.reply = lambda _: gate.then(answer(503))
    one = harness.subscribe(sink.url, {"concurrency": 1})
    async with harness.delivering(queue_length=8, timeout_seconds=60.0) as dispatcher:
        past = Past(harness, one)
        past.append(range(100, 120))
        past.complete()
        await eventually(lambda: gate.held and dispatcher._queues.get(one).queued == 2)
        lose_sink(harness, one)
        await follow(dispatcher)
        gate.open()
        seen: list[int] = []
        deadline = time.monotonic() + 60
        while not past.is_over() and time.monotonic() < deadline:
            seen += drain(leases, one)
            await asyncio.sleep(0.01)
    assert sorted(seen) == list(range(100, 120))


async def test_a_replay_that_waits_for_its_mailbox_goes_on_to_the_sink(harness, sink, leases, monkeypatch):
    monkeypatch.setattr(mailboxes, "_MOST_REPLAYED", 5)
    one = harness.subscribe(sink.url)
    lose_sink(harness, one)
    async with harness.delivering() as dispatcher:
        past = Past(harness, one)
        past.append(range(100, 120))
        past.complete()
        await eventually(lambda: leases.fill(one).waiting == 5)
        give_sink(harness, one, sink)
        await follow(dispatcher)
        await eventually(lambda: len(sink.requests) == 15)
        expiry(harness).clear()
        await eventually(past.is_over)
    assert sorted(map(int, sink.ids)) == list(range(100, 120))


@pytest.mark.parametrize("spec", [{}, ORDERED])
async def test_what_nobody_holds_is_not_held(harness, sink, spec):
    """Another dispatcher, whose shares went over to this one, wrote its last words after this one had begun."""
    one = harness.subscribe(sink.url, spec)
    async with harness.delivering():
        send(harness, [0], one)
        await eventually(harness.settled)
        positions = send(harness, range(1, EVENTS))
        await eventually(harness.settled)
        held = [Wait(Key(one, position), 0, HELD, "it is on its way") for position in positions]
        harness.ledger.commit(Changes(held, [], [], None))
        await eventually(lambda: is_drained(harness))
    assert sorted(sink.ids) == [str(number) for number in range(EVENTS)]
    assert not spec or sink.ids == sorted(sink.ids)


@pytest.mark.parametrize("spec", [{}, ORDERED])
@pytest.mark.parametrize("is_restarted", [False, True])
async def test_what_is_new_is_pulled_behind_what_waited_for_the_sink(
    harness, sink, leases, spec, is_restarted
):
    """The backlog is on its way from the ledger to the mailbox when more comes."""
    sink.reply = lambda _: answer(503)
    one = harness.subscribe(sink.url, spec)
    settings = {"backoff_seconds": 3600.0, "backoff_max_seconds": 3600.0, "breaker_failures": 1}
    async with harness.delivering(**settings, breaker_seconds=3600.0) as dispatcher:
        waited = send(harness, range(EVENTS), one)
        await eventually(lambda: harness.ledger.count()[0] == EVENTS)
        if not is_restarted:
            came = await _lose_sink_while_more_comes(harness, dispatcher, one, leases)
    if is_restarted:
        async with harness.delivering(**settings, breaker_seconds=3600.0) as dispatcher:
            came = await _lose_sink_while_more_comes(harness, dispatcher, one, leases)
    assert drain(leases, one) == [*waited, *came]


def has_come(harness, dispatcher, subscription):
    """Either it is durable somewhere, or a new queue keeps it until the ledger has been looked at."""
    queue = dispatcher._queues.find(subscription)
    is_durable = harness.ledger.cursor() == LogPosition.at(harness.log.end)
    return is_durable or (queue is not None and queue.state.joining == EVENTS)


async def _lose_sink_while_more_comes(harness, dispatcher, subscription, leases):
    gate, retries = Gate(), dispatcher._retries
    retries._move_to_mailbox = gate.before(retries._move_to_mailbox)
    lose_sink(harness, subscription)
    await follow(dispatcher)
    came = send(harness, range(EVENTS, 2 * EVENTS), subscription)
    await eventually(lambda: gate.held and has_come(harness, dispatcher, subscription))
    gate.open()
    await eventually(lambda: leases.fill(subscription).waiting == 2 * EVENTS)
    last = send(harness, [2 * EVENTS], subscription)
    await eventually(harness.settled)
    return [*came, *last]


def test_a_slow_look_puts_off_the_next_one_for_half_a_minute_at_most():
    assert next_look(100.0, 100.01) == 101.01
    assert next_look(100.0, 100.5) == pytest.approx(110.5)
    assert next_look(100.0, 105.0) == 135.0
