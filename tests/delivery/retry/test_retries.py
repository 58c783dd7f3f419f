"""Taking up what waits alone: what is due, in order where that is asked for, and never more than there is room for."""

import pytest
from tests.delivery.harness import eventually, sample

from headrace.clock import CLOCK
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.ledger.schedule import HELD
from headrace.subscriptions.delivery.spec import Ordering

HOUR = 3600.0


class Waiting:
    """A dispatcher at rest, whose ledger holds deliveries of one subscription."""

    def __init__(self, harness, subscription, dues):
        self.harness = harness
        self.subscription = subscription
        harness.record([sample(number) for number in range(len(dues))])
        waits = [Wait(Key(subscription, position), 1, due, "it failed") for position, due in enumerate(dues)]
        harness.ledger.commit(Changes(waits, [], [], None))

    async def take_up(self, dispatcher):
        """Poll once, and return what was begun."""
        await dispatcher._changes.refresh()
        dispatcher._queues.is_recovering = False
        await dispatcher._retries.poll()
        await eventually(lambda: dispatcher._senders["HTTP"].begun or not dispatcher._queues.busy())
        return dispatcher._senders["HTTP"].begun


@pytest.fixture
def waiting(harness):
    def make(dues, **spec):
        return Waiting(harness, harness.subscribe("http://127.0.0.1:1/", spec), dues)

    return make


async def test_only_what_is_due_is_taken_up(waiting, at_rest):
    it, dispatcher = waiting([0.0, CLOCK.time() + 30.0, 0.0]), at_rest(backoff_max_seconds=60.0)
    assert sorted(await it.take_up(dispatcher)) == [0, 2]


async def test_in_order_nothing_overtakes_what_is_not_due(waiting, at_rest):
    it = waiting([CLOCK.time() + 30.0, 0.0, 0.0], ordering=Ordering.ORDERED)
    dispatcher = at_rest(backoff_max_seconds=60.0)
    await dispatcher._changes.refresh()
    dispatcher._queues.is_recovering = False
    await dispatcher._retries.poll()
    assert dispatcher._senders["HTTP"].begun == []
    assert dispatcher._queues.get(it.subscription).queued == 3


async def test_no_more_is_taken_up_than_there_is_room_for(waiting, at_rest):
    it, dispatcher = waiting([0.0] * 50, concurrency=1), at_rest(queue_length=5)
    await it.take_up(dispatcher)
    queue = dispatcher._queues.get(it.subscription)
    assert len(queue.state.held) <= 5
    assert queue.state.backlog, "it knows that there is more"


async def test_what_another_dispatcher_held_is_taken_up_when_that_is_gone(waiting, at_rest):
    it = waiting([HELD])
    assert await it.take_up(at_rest()) == [0]


async def test_what_is_due_far_later_than_any_backoff_was_written_by_another_clock(waiting, at_rest):
    it = waiting([CLOCK.time() + 10 * HOUR])
    assert await it.take_up(at_rest(backoff_max_seconds=60.0)) == [0]


async def test_nothing_is_taken_up_for_a_subscription_that_is_gone(waiting, at_rest, harness):
    it = waiting([0.0])
    harness.store.delete(it.subscription, harness.ledger.cursor)
    dispatcher = at_rest()
    assert await it.take_up(dispatcher) == []
    assert harness.ledger.count() == (0, 0)


async def test_a_paused_subscription_keeps_what_waits(waiting, at_rest, harness):
    it = waiting([0.0])
    harness.store.wish(it.subscription, paused=True)
    assert await it.take_up(at_rest()) == []
    assert harness.ledger.count() == (1, 0)


async def test_what_waits_for_a_sink_that_is_gone_can_be_pulled(waiting, at_rest, harness):
    it = waiting([CLOCK.time() + HOUR, 0.0])
    harness.store.wish(it.subscription, sink=None, protocol="PULL")
    await it.take_up(at_rest())
    assert harness.ledger.count() == (0, 0)
    assert harness.ledger.who_has_mail() == [it.subscription]


async def test_closed_it_takes_up_nothing(waiting, at_rest):
    it, dispatcher = waiting([0.0]), at_rest()
    dispatcher._retries.close()
    await dispatcher._changes.refresh()
    await dispatcher._retries.poll()
    assert dispatcher._senders["HTTP"].begun == []
    assert not dispatcher._queues.busy()
    assert it.harness.ledger.count() == (1, 0)
