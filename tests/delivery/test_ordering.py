"""What has an order arrives in it, whatever fails, fills up, pauses or crashes in between."""

import asyncio
from collections import Counter, defaultdict
from functools import partial

import pytest
from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import RawSink, answer

from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.subscriptions.delivery.spec import Ordering

ORDERED = {"ordering": Ordering.ORDERED}
BY_KEY = {"ordering": Ordering.PARTITIONKEY}


class Moody:
    """Answers with failures in a fixed pattern; `accepted` is what it took, in that order."""

    def __init__(self, fails=lambda event, times: False):
        self.fails = fails
        self.times: Counter[str] = Counter()
        self.accepted: list[int] = []

    def __call__(self, request):
        event = request["ce-id"]
        self.times[event] += 1
        if self.fails(int(event), self.times[event]):
            return answer(503)
        self.accepted.append(int(event))
        return answer(200)

    def has_accepted(self, count):
        return len(set(self.accepted)) >= count

    @property
    def first_accepted(self):
        """What it took, each where it came first: at least once allows for repetitions after a crash."""
        return list(dict.fromkeys(self.accepted))


def send(harness, numbers, *subscriptions, **attributes):
    harness.send([sample(number, **attributes) for number in numbers], *subscriptions)


async def test_a_failed_head_is_tried_again_before_what_is_behind_it(harness):
    mood = Moody(lambda event, times: event in (0, 7) and times <= 2)
    async with RawSink(mood) as sink, harness.delivering():
        send(harness, range(20), harness.subscribe(sink.url, ORDERED))
        await eventually(harness.settled)
        assert [int(each) for each in sink.ids] == [0, 0, 0, *range(1, 7), 7, 7, 7, *range(8, 20)]
    assert harness.ledger.count() == (0, 0)
    assert [row.attempt for row in harness.attempts() if row.position == 7] == [1, 2, 3]


async def test_a_head_that_is_given_up_lets_the_others_go(harness):
    mood = Moody(lambda event, _: event == 3)
    async with RawSink(mood) as sink, harness.delivering(retries=2):
        send(harness, range(6), harness.subscribe(sink.url, ORDERED))
        await eventually(lambda: harness.settled() and harness.ledger.count() == (0, 1))
        assert [int(each) for each in sink.ids] == [0, 1, 2, 3, 3, 3, 4, 5]
    assert [(row.position, row.attempts) for row in harness.dead()] == [(3, 3)]


async def test_what_overflows_into_the_ledger_keeps_its_order_while_more_comes(harness):
    mood = Moody(lambda event, times: event % 50 == 0 and times == 1)
    async with RawSink(mood) as sink, harness.delivering(queue_length=10):
        subscription = harness.subscribe(sink.url, ORDERED)
        for start in range(0, 400, 40):
            send(harness, range(start, start + 40), subscription)
            await asyncio.sleep(0.02)
        await eventually(harness.settled)
        assert mood.accepted == [*range(400)]


async def test_after_a_backlog_the_ledger_is_left_out_again(harness):
    """While events keep coming: what joins at the end of the backlog must neither overtake nor be lost."""
    mood = Moody()
    async with RawSink(mood) as sink, harness.delivering(queue_length=10) as dispatcher:
        subscription = harness.subscribe(sink.url, ORDERED)
        send(harness, range(100), subscription)
        for number in range(100, 400):
            send(harness, [number], subscription)
            await asyncio.sleep(0.002)
        await eventually(harness.settled)
        assert mood.accepted == [*range(400)]
        await eventually(lambda: not dispatcher._queues.get(subscription).state.backlog)
        send(harness, [400], subscription)
        await eventually(lambda: len(mood.accepted) == 401)


async def test_a_key_that_fails_holds_up_only_itself(harness):
    broken = asyncio.Event()
    seen = defaultdict(list)

    def reply(request):
        key = request["ce-partitionkey"]
        if key == "a" and not broken.is_set():
            return answer(503)
        seen[key].append(int(request["ce-id"]))
        return answer(200)

    async with RawSink(reply) as sink, harness.delivering(retries=1000, backoff_max_seconds=0.05):
        subscription = harness.subscribe(sink.url, BY_KEY)
        for number in range(60):
            send(harness, [number], subscription, partitionkey="abc"[number % 3])
        await eventually(lambda: len(seen["b"]) == len(seen["c"]) == 20)
        assert not seen["a"]
        broken.set()
        await eventually(harness.settled)
    assert seen == {key: [*range(index, 60, 3)] for index, key in enumerate("abc")}


async def test_events_without_a_key_wait_for_nobody(harness):
    held = asyncio.Event()

    async def hold():
        await held.wait()
        yield answer(200)

    async with (
        RawSink(lambda request: hold() if request["ce-id"] == "0" else answer(200)) as sink,
        harness.delivering(),
    ):
        send(harness, range(10), harness.subscribe(sink.url, BY_KEY))
        await eventually(lambda: len(sink.requests) == 10)
        held.set()
        await eventually(harness.settled)


@pytest.mark.parametrize("spec", [ORDERED, BY_KEY])
async def test_crashes_repeat_and_keep_order_and_attempts(harness, spec):
    """Failing heads lie in the ledger when it crashes, and what is behind them in the outbox or the ledger."""
    mood = Moody(lambda event, times: event % 25 == 0 and times <= 3)
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, spec)
        send(harness, range(200), subscription, partitionkey="k")
        for seen in (30, 90, 140):
            async with harness.crashing(queue_length=20, retries=20):
                await eventually(partial(mood.has_accepted, seen))
        send(harness, range(200, 250), subscription, partitionkey="k")
        async with harness.delivering(queue_length=20, retries=20):
            await eventually(harness.settled)
    assert mood.first_accepted == [*range(250)]


async def test_attempts_at_a_head_are_counted_over_crashes(harness):
    mood = Moody(lambda event, _: event == 0)
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, ORDERED)
        send(harness, range(3), subscription)

        def made(attempts):
            waits = harness.ledger.in_order(subscription, 1)
            return bool(waits) and waits[0].attempts >= attempts

        for times in (1, 2, 3):
            async with harness.crashing(retries=3, backoff_seconds=0.2):
                await eventually(partial(made, times))
        async with harness.delivering(retries=3):
            await eventually(lambda: harness.ledger.count() == (0, 1) and harness.settled())
        assert mood.accepted == [1, 2]
        assert 4 <= mood.times["0"] <= 7, "an attempt whose outcome was not yet durable may be made again"


async def test_a_pause_keeps_the_order(harness):
    mood = Moody()
    async with RawSink(mood) as sink, harness.delivering(queue_length=40):
        subscription = harness.subscribe(sink.url, ORDERED)
        for start in range(0, 300, 30):
            send(harness, range(start, start + 30), subscription)
            if start in (60, 180):
                harness.store.wish(subscription, paused=True)
                await asyncio.sleep(0.6)
            elif start in (120, 240):
                harness.store.wish(subscription, paused=False)
                await asyncio.sleep(0.6)
        await eventually(harness.settled)
    assert mood.accepted == [*range(300)]


async def test_an_open_breaker_keeps_the_order(harness):
    down = asyncio.Event()
    mood = Moody(lambda event, times: down.is_set())
    async with (
        RawSink(mood) as sink,
        harness.delivering(queue_length=40, breaker_failures=2, breaker_seconds=0.2, retries=1000),
    ):
        subscription = harness.subscribe(sink.url, ORDERED)
        for start in range(0, 200, 20):
            send(harness, range(start, start + 20), subscription)
            (down.set if start == 60 else down.clear)()
            await asyncio.sleep(0.15)
        await eventually(harness.settled)
    assert mood.accepted == [*range(200)]


async def test_a_subscription_that_becomes_ordered_waits_for_what_is_in_the_ledger(harness):
    mood = Moody(lambda event, times: event == 0 and times <= 2)
    async with RawSink(mood) as sink, harness.delivering(backoff_seconds=0.8, backoff_max_seconds=0.8):
        subscription = harness.subscribe(sink.url)
        send(harness, [0], subscription)
        await eventually(
            lambda: harness.ledger.count()[0] == 1 and harness.ledger.cursor() == LogPosition.at(1)
        )
        harness.specs[subscription] = ORDERED
        harness.store.wish(subscription)
        await asyncio.sleep(0.7)
        send(harness, range(1, 5), subscription)
        await eventually(harness.settled)
    assert mood.accepted == [*range(5)]


async def test_what_is_read_again_after_a_crash_goes_before_what_is_in_the_ledger(harness):
    """The queue held the first ones when it crashed, and the ledger had those behind them already."""
    mood = Moody()
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, ORDERED)
        send(harness, range(30), subscription)
        behind = [
            Wait(Key(subscription, position), 0, 0.0, "the queue was full") for position in range(10, 25)
        ]
        harness.ledger.commit(Changes(behind, [], [], None))
        async with harness.delivering():
            await eventually(harness.settled)
    assert mood.accepted == [*range(30)]


async def test_a_redriven_event_lets_nothing_overtake_what_waits(harness):
    """It is a sequence of its own in the ledger, where each sequence has its part of a look."""
    mood = Moody()
    redriven = b'{"specversion":"1.0","id":"1000","source":"/s","type":"t"}'
    async with RawSink(mood) as sink:
        subscription = harness.subscribe(sink.url, ORDERED)
        send(harness, range(60))
        waits = [Wait(Key(subscription, position), 0, 0.0, "the queue was full") for position in range(60)]
        again = Wait(Key(subscription, 0, "a-redrive"), 0, 0.0, "it was redriven", redriven)
        harness.ledger.commit(Changes([*waits, again], [], [], LogPosition.at(60)))
        async with harness.delivering(queue_length=20):
            await eventually(lambda: 1000 in mood.accepted)
            send(harness, range(60, 80), subscription)
            await eventually(harness.settled)
    assert [each for each in mood.accepted if each != 1000] == [*range(80)]


async def test_more_than_may_join_does_not_overtake_what_joins(harness):
    """The queue looks into the ledger, with nothing known to be there, while more comes than it lets join."""
    mood = Moody()
    async with RawSink(mood) as sink, harness.delivering(queue_length=40) as dispatcher:
        subscription = harness.subscribe(sink.url, ORDERED)
        send(harness, range(5), subscription)
        await eventually(harness.settled)
        queue = dispatcher._queues.get(subscription)
        await eventually(lambda: not queue.state.backlog and not queue.state.is_looking)
        queue.state.look(is_recovering=False)
        send(harness, range(5, 35), subscription)
        await eventually(lambda: dispatcher._progress.log.read()[0] == 35)
        dispatcher._schedule.wake(queue.id)
        await eventually(harness.settled)
    assert mood.accepted == [*range(35)]
