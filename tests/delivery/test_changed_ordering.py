"""A subscription's ordering changes while its deliveries are anywhere: order holds from then on, and nothing stands still.

Gates hold attempts and looks where they are until the change has been followed.
"""

import asyncio
from dataclasses import replace
from functools import partial

import pytest
from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.raw_sink import answer
from tests.delivery.test_changed_sink import Gate, begin, follow, send

from headrace.ledger.ledger import Changes, Key, Wait
from headrace.subscriptions.delivery.spec import Ordering
from headrace.subscriptions.subscription import parse_subscription

UNORDERED = {"ordering": Ordering.UNORDERED}
ORDERED = {"ordering": Ordering.ORDERED}
BY_KEY = {"ordering": Ordering.PARTITIONKEY}
PATIENT = {"retries": 1000, "timeout_seconds": 60.0}
STILL_SECONDS = 0.3


@pytest.fixture
def harness(tmp_path):
    harness = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db", patience=20.0)
    yield harness
    harness.close()


class GatedSink:
    """Holds the first attempt of some events; answers them as is said, and everything else with 200."""

    def __init__(self, sink, held, status=503):
        self.gates = {str(number): Gate() for number in held}
        self._status = status
        self._seen: set[str] = set()
        sink.reply = self._reply

    def _reply(self, request):
        id_ = request["ce-id"]
        if id_ in self.gates and id_ not in self._seen:
            self._seen.add(id_)
            return self.gates[id_].then(answer(self._status))
        return answer(200)

    def are_held(self):
        return all(gate.held for gate in self.gates.values())


async def change(harness, dispatcher, subscription, sink, spec):
    harness.specs[subscription] = spec
    harness.store.replace(replace(parse_subscription({"sink": sink.url}), id=subscription))
    await follow(dispatcher)


def has_attempted(harness, times):
    return len(harness.attempts()) >= times


def numbers(sink, start=0):
    return [int(each) for each in sink.ids[start:]]


@pytest.mark.parametrize("before", [UNORDERED, BY_KEY])
@pytest.mark.parametrize("status", [503, 200])
async def test_what_comes_waits_for_what_is_under_way(harness, sink, before, status):
    """The attempt of event 0 began before the change; the others come behind it, whatever becomes of it."""
    held = GatedSink(sink, [0], status)
    one = harness.subscribe(sink.url, before)
    async with harness.delivering(**PATIENT) as dispatcher:
        send(harness, [0], one)
        await eventually(held.are_held)
        await change(harness, dispatcher, one, sink, ORDERED)
        send(harness, range(1, 5), one)
        await asyncio.sleep(STILL_SECONDS)
        assert numbers(sink) == [0]
        held.gates["0"].open()
        await eventually(harness.settled)
    assert numbers(sink) == ([0, 0, 1, 2, 3, 4] if status == 503 else [0, 1, 2, 3, 4])


@pytest.mark.parametrize("ended", [[0, 1, 2], [2, 1, 0], [1, 0, 2]])
async def test_attempts_that_fail_one_by_one_are_repeated_in_order(harness, sink, ended):
    held = GatedSink(sink, ended)
    one = harness.subscribe(sink.url, UNORDERED | {"concurrency": 3})
    async with harness.delivering(**PATIENT) as dispatcher:
        send(harness, range(3), one)
        await eventually(held.are_held)
        await change(harness, dispatcher, one, sink, ORDERED | {"concurrency": 3})
        send(harness, [3], one)
        for count, number in enumerate(ended, 1):
            held.gates[str(number)].open()
            await eventually(partial(has_attempted, harness, count))
        await eventually(harness.settled)
    assert numbers(sink, 3) == [0, 1, 2, 3]


@pytest.mark.parametrize(("before", "after"), [(UNORDERED, BY_KEY), (ORDERED, BY_KEY)])
async def test_only_the_same_key_waits_where_keys_have_an_order(harness, sink, before, after):
    held = GatedSink(sink, [0])
    one = harness.subscribe(sink.url, before)
    async with harness.delivering(**PATIENT) as dispatcher:
        await begin(harness, dispatcher, one)
        harness.send([sample(0, partitionkey="a")], one)
        await eventually(held.are_held)
        await change(harness, dispatcher, one, sink, after)
        harness.send([sample(number, partitionkey="ab"[number % 2]) for number in range(1, 7)], one)
        await eventually(lambda: {1, 3, 5} <= set(numbers(sink)))
        await asyncio.sleep(STILL_SECONDS)
        assert not {2, 4, 6} & set(numbers(sink))
        held.gates["0"].open()
        await eventually(harness.settled)
    assert [each for each in numbers(sink, 1) if each % 2 == 0] == [0, 0, 2, 4, 6]
    assert [each for each in numbers(sink, 1) if each % 2] == [1, 3, 5]


async def test_the_end_of_an_old_attempt_lets_go_of_nothing_that_is_new(harness, sink):
    """Two are under way for one key when it begins to matter: what is behind waits for both."""
    held = GatedSink(sink, [0, 1])
    one = harness.subscribe(sink.url, UNORDERED)
    async with harness.delivering(**PATIENT) as dispatcher:
        harness.send([sample(number, partitionkey="a") for number in range(2)], one)
        await eventually(held.are_held)
        await change(harness, dispatcher, one, sink, BY_KEY)
        harness.send([sample(2, partitionkey="a")], one)
        held.gates["1"].open()
        await eventually(partial(has_attempted, harness, 1))
        await asyncio.sleep(STILL_SECONDS)
        assert len(sink.ids) == 2
        held.gates["0"].open()
        await eventually(harness.settled)
    assert numbers(sink, 2) == [0, 1, 2]


@pytest.mark.parametrize("before", [ORDERED, BY_KEY])
async def test_nobody_waits_any_more_where_no_order_is_asked_for(harness, sink, before):
    held = GatedSink(sink, [0])
    one = harness.subscribe(sink.url, before)
    async with harness.delivering(**PATIENT) as dispatcher:
        await begin(harness, dispatcher, one)
        harness.send([sample(number, partitionkey="a") for number in range(4)], one)
        await eventually(held.are_held)
        await change(harness, dispatcher, one, sink, UNORDERED)
        await eventually(lambda: {1, 2, 3} <= set(numbers(sink)))
        held.gates["0"].open()
        await eventually(harness.settled)
    assert sorted(numbers(sink, 1)) == [0, 0, 1, 2, 3]


async def test_what_was_read_as_due_is_not_put_before_what_is_not(harness, sink):
    """The ledger is being looked at for what is due when order begins to matter: that isn't what comes next."""
    sink.reply = lambda _: answer(503) if len(sink.requests) == 1 else answer(200)
    one = harness.subscribe(sink.url, UNORDERED)
    async with harness.delivering(**PATIENT | {"backoff_seconds": 4.0}) as dispatcher:
        send(harness, [0], one)
        await eventually(lambda: harness.ledger.count()[0] == 1)
        gate, events = Gate(), dispatcher._events
        events.payloads = gate.before(events.payloads)
        [position] = send(harness, [1])
        harness.ledger.commit(Changes([Wait(Key(one, position), 0, 0.0, "it is due")], [], [], None))
        await eventually(lambda: gate.held)
        await change(harness, dispatcher, one, sink, ORDERED)
        gate.open()
        await eventually(harness.settled)
    assert numbers(sink, 1) == [0, 1]
