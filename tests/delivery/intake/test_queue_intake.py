"""Putting pairs into queues alone: what can't be queued waits in the ledger, and nothing is settled before it is there."""

import pyarrow as pa
import pytest
from tests.delivery.harness import eventually, sample

from headrace.delivery.settlement import journal as journal_module
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.subscriptions.delivery.spec import Ordering


def pairs(positions, *subscriptions):
    rows = [(position, each) for position in positions for each in subscriptions]
    return pa.table({"position": [row[0] for row in rows], "subscription": [row[1] for row in rows]})


def subscribe(harness, **spec):
    return harness.subscribe("http://127.0.0.1:1/", spec)


def record(harness, count):
    return harness.record([sample(number) for number in range(count)])


async def test_a_queue_gets_its_events(harness, at_rest):
    one, positions = subscribe(harness), record(harness, 3)
    dispatcher = at_rest()
    assert await dispatcher._queue_intake.submit(pairs(positions, one))
    sinks = dispatcher._senders["HTTP"]
    await eventually(lambda: len(sinks.begun) == 3)
    dispatcher._progress.log.read_to(LogPosition.at(3))
    assert dispatcher._progress.log.settled() == LogPosition.at(0)
    sinks.free.set()
    await eventually(lambda: dispatcher._progress.log.settled() == LogPosition.at(3))


async def test_it_refuses_while_the_ledger_is_behind(harness, at_rest, monkeypatch):
    monkeypatch.setattr(journal_module, "_MAX_COLLECTED", 1)
    one, positions = subscribe(harness), record(harness, 3)
    harness.store.wish(one, paused=True)
    dispatcher = at_rest()
    assert await dispatcher._queue_intake.submit(pairs(positions, one))
    assert not await dispatcher._queue_intake.submit(pairs(positions, one))
    await dispatcher._settlement.poll()
    assert await dispatcher._queue_intake.submit(pairs(positions, one))


async def test_what_a_queue_can_t_take_is_settled_when_the_ledger_has_it(harness, at_rest):
    one, positions = subscribe(harness), record(harness, 5)
    harness.store.wish(one, paused=True)
    dispatcher = at_rest()
    await dispatcher._queue_intake.begin(pairs(positions, one))
    dispatcher._progress.log.read_to(LogPosition.at(5))
    assert dispatcher._progress.log.settled() == LogPosition.at(0), "it is in memory alone"
    await dispatcher._settlement.poll()
    assert dispatcher._progress.log.settled() == LogPosition.at(5)
    waits = harness.ledger.in_order(one, 10)
    assert [(wait.key.position, wait.reason) for wait in waits] == [
        (position, "the subscription is paused") for position in positions
    ]


async def test_a_full_queue_spills_and_the_others_do_not(harness, at_rest):
    busy, free = subscribe(harness, concurrency=1), subscribe(harness)
    positions = record(harness, 8)
    dispatcher = at_rest(queue_length=4)
    await dispatcher._queue_intake.begin(pairs(positions, busy))
    await dispatcher._queue_intake.begin(pairs([positions[0]], free))
    await dispatcher._settlement.poll()
    queued = dispatcher._queues.get(busy).queued
    assert 0 < len(harness.ledger.in_order(busy, 10)) < 8
    assert queued <= 4
    assert harness.ledger.in_order(free, 10) == []


async def test_nothing_is_for_a_subscription_that_is_gone(harness, at_rest):
    positions = record(harness, 2)
    dispatcher = at_rest()
    await dispatcher._queue_intake.begin(pairs(positions, "nobody"))
    dispatcher._progress.log.read_to(LogPosition.at(2))
    assert dispatcher._progress.log.settled() == LogPosition.at(2)


async def test_an_event_that_the_log_has_lost_is_given_up(harness, at_rest):
    one, positions = subscribe(harness), record(harness, 1)
    dispatcher = at_rest()

    async def nothing(_):
        return {}

    dispatcher._events.read_log = nothing
    await dispatcher._queue_intake.begin(pairs(positions, one))
    await dispatcher._settlement.poll()
    (dead,) = harness.dead()
    assert (dead.position, dead.reason) == (0, "its event can't be read from the log any more")


@pytest.mark.parametrize("ordering", [Ordering.UNORDERED, Ordering.ORDERED])
async def test_what_the_ledger_held_at_the_start_is_not_begun_again(harness, at_rest, ordering):
    one, positions = subscribe(harness, ordering=ordering), record(harness, 4)
    harness.ledger.commit(Changes([Wait(Key(one, 2), 1, 0.0, "it failed")], [], [], None))
    dispatcher = at_rest()
    await dispatcher._queue_intake.begin(pairs(positions, one))
    await dispatcher._settlement.poll()
    begun = {*dispatcher._senders["HTTP"].begun}
    waits = {wait.key.position: wait.attempts for wait in harness.ledger.in_order(one, 10)}
    assert 2 not in begun
    assert waits[2] == 1, "it is as it was"
    if ordering is Ordering.ORDERED:
        assert set(waits) == set(positions), "what may come before what waits waits as well"
