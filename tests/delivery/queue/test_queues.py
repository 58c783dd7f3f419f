"""What a subscription may ask of its queue: batches, a rate, a pause; and what no queue may do to another."""

import asyncio
import itertools
import time
from collections import Counter
from contextlib import AsyncExitStack
from functools import partial

import pytest
from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import RawSink, answer, silence

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.queue import queue as queue_module
from headrace.delivery.queue import queues as queues_module
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.subscriptions.delivery.spec import Ordering


class BatchSender:
    """Keeps the batches it is given; `outcomes` are its first answers."""

    def __init__(self, *outcomes):
        self.batches = []
        self.targets = []
        self.forgotten = []
        self.outcomes = list(outcomes)

    async def send(self, target, payloads):
        self.targets.append(target)
        self.batches.append([int(payload.recorded.event.id) for payload in payloads])
        await asyncio.sleep(0)
        return self.outcomes.pop(0) if self.outcomes else Outcome(Verdict.DONE)

    async def forget(self, owner):
        self.forgotten.append(owner)

    async def close(self):
        pass


def batched(harness, size, age=0.2, **spec):
    subscription = harness.subscribe("http://127.0.0.1:1/", {"batch_size": size, "batch_age": age, **spec})
    harness.store.wish(subscription, protocolsettings={"mode": "batched", "method": "POST"})
    return subscription


def has_seen(sink, count):
    return len(sink.requests) == count


def events(numbers):
    return [sample(number) for number in numbers]


async def test_batches_are_full_or_old(harness):
    sender = BatchSender()
    async with harness.delivering(sender, concurrency=1):
        subscription = batched(harness, 8)
        began = time.monotonic()
        harness.send(events(range(20)), subscription)
        await eventually(harness.settled)
        assert time.monotonic() - began > 0.2
        harness.send(events([20]), subscription)
        await eventually(harness.settled)
    assert [len(each) for each in sender.batches] == [8, 8, 4, 1]
    assert [*itertools.chain.from_iterable(sender.batches)] == [*range(21)]


async def test_events_are_sent_alone_where_the_mode_is_another(harness):
    sender = BatchSender()
    async with harness.delivering(sender):
        harness.send(events(range(5)), harness.subscribe("http://127.0.0.1:1/"))
        await eventually(harness.settled)
    assert [len(each) for each in sender.batches] == [1] * 5


@pytest.mark.parametrize("ordering", list(Ordering))
async def test_a_batch_has_one_outcome_for_all(harness, ordering):
    sender = BatchSender(Outcome(Verdict.AGAIN, "busy"), Outcome(Verdict.AGAIN, "busy"))
    async with harness.delivering(sender, concurrency=1):
        harness.send(events(range(4)), batched(harness, 4, 0.05, ordering=ordering))
        await eventually(harness.settled)
    assert sorted([*itertools.chain.from_iterable(sender.batches)]) == sorted([*range(4)] * 3)
    assert sender.batches[:1] == [[0, 1, 2, 3]]
    attempts = Counter((row.position, row.attempt) for row in harness.attempts())
    assert attempts == Counter((position, number) for position in range(4) for number in (1, 2, 3))


async def test_a_rate_is_kept(harness, sink):
    async with harness.delivering():
        began = time.monotonic()
        harness.send(events(range(20)), harness.subscribe(sink.url, {"rate": 50.0}))
        await eventually(harness.settled)
        assert time.monotonic() - began > 0.37


async def test_a_paused_subscription_gets_nothing_and_holds_nothing_up(harness, sink):
    async with harness.delivering(queue_length=20):
        subscription = harness.subscribe(sink.url)
        harness.store.wish(subscription, paused=True)
        harness.send(events(range(50)), subscription)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(50))
        assert harness.ledger.count() == (50, 0)
        assert not sink.requests
        harness.store.wish(subscription, paused=False)
        await eventually(harness.settled)
    assert sorted(map(int, sink.ids)) == [*range(50)]


async def test_a_pause_takes_back_what_is_queued(harness):
    held = asyncio.Event()

    async def hold():
        await held.wait()
        yield answer(200)

    async with RawSink(lambda _: hold()) as sink, harness.delivering(concurrency=2):
        subscription = harness.subscribe(sink.url)
        harness.send(events(range(30)), subscription)
        await eventually(lambda: len(sink.requests) == 2)
        harness.store.wish(subscription, paused=True)
        await eventually(lambda: harness.ledger.count() == (28, 0))
        held.set()
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(30))
        assert len(sink.requests) == 2
        harness.store.wish(subscription, paused=False)
        await eventually(harness.settled)
        assert sorted(map(int, sink.ids)) == [*range(30)]


async def test_a_protocol_that_this_process_lacks_lets_deliveries_wait(harness, sink):
    async with harness.delivering():
        lost, live = (
            harness.subscribe("mqtt://127.0.0.1/".replace("mqtt", "http")),
            harness.subscribe(sink.url),
        )
        harness.store.wish(lost, protocol="MQTT9")
        harness.send(events(range(10)), lost, live)
        await eventually(lambda: len(sink.requests) == 10 and harness.ledger.cursor() == LogPosition.at(10))
        (wait, *_) = harness.ledger.due(lost, "sink", 1e12, 100)
        assert wait.reason == "this dispatcher can't deliver over MQTT9"
        assert (harness.ledger.count(), wait.attempts) == ((10, 0), 0)


async def test_what_another_process_puts_into_the_ledger_is_noticed(harness, sink):
    async with harness.delivering():
        subscription = harness.subscribe(sink.url)
        (position,) = harness.send(events([0]), subscription)
        await eventually(harness.settled)
        redriven = Wait(Key(subscription, position), 0, 0.0, "redriven", b'{"specversion":"1.0","id":"77",'
                        b'"source":"/s","type":"t"}')  # fmt: skip
        harness.ledger.commit(Changes([redriven], [], [], None))
        await eventually(lambda: sink.ids == ["0", "77"] and harness.settled(), seconds=4)


async def test_senders_forget_what_changed_and_what_ended(harness):
    sender = BatchSender()
    async with harness.delivering(sender):
        stays, changes, ends = (harness.subscribe("http://127.0.0.1:1/") for _ in range(3))
        harness.send(events([0]), stays, changes, ends)
        await eventually(harness.settled)
        harness.store.wish(changes, sink="http://127.0.0.1:2/")
        harness.store.delete(ends, lambda: LogPosition.at(harness.log.end))
        await eventually(lambda: sorted(sender.forgotten) == sorted([changes, ends]))
        harness.send(events([1]), stays, changes)
        await eventually(harness.settled)
    assert {target.uri for target in sender.targets if target.owner == changes} == {
        "http://127.0.0.1:1/",
        "http://127.0.0.1:2/",
    }


async def test_idle_lanes_are_dropped_and_made_again(harness, sink, monkeypatch):
    monkeypatch.setattr(queues_module, "_IDLE_SECONDS", 0.0)
    async with harness.delivering() as dispatcher:
        subscriptions = [harness.subscribe(sink.url, {"ordering": each}) for each in Ordering]
        for number in range(3):
            harness.send(events([number]), *subscriptions)
            await eventually(harness.settled)
            await eventually(lambda: all(queue.is_idle for queue in dispatcher._queues))
            await dispatcher._queues.poll()
            assert not list(dispatcher._queues)
    assert Counter(sink.ids) == {"0": 3, "1": 3, "2": 3}


@pytest.mark.parametrize(("ways", "breaker_failures"), [("hanging", 0), ("hanging failing refusing", 10)])
async def test_a_hundred_dead_sinks_do_not_slow_a_live_one(harness, ways, breaker_failures):
    """They fill all the memory there is; what is for the live one arrives, and new events at once."""
    async with AsyncExitStack() as stack:
        hanging = await stack.enter_async_context(RawSink(lambda _: silence()))
        failing = await stack.enter_async_context(RawSink(lambda _: answer(500)))
        live = await stack.enter_async_context(RawSink())
        urls = {"hanging": hanging.url, "failing": failing.url, "refusing": "http://127.0.0.1:1"}
        dead = [urls[way] for _, way in zip(range(100), itertools.cycle(ways.split()), strict=False)]
        subscriptions = [harness.subscribe(f"{url}/{number}") for number, url in enumerate(dead)]
        subscriptions.append(harness.subscribe(live.url))
        dispatcher = await stack.enter_async_context(
            harness.delivering(
                max_queued=1000,
                queue_length=200,
                timeout_seconds=60.0,
                shutdown_seconds=0.1,
                concurrency=4,
                backoff_seconds=5.0,
                breaker_failures=breaker_failures,
            )
        )
        for start in range(0, 300, 20):
            harness.send(events(range(start, start + 20)), *subscriptions)
        await eventually(lambda: len(live.requests) >= 300)
        assert sorted(map(int, live.ids)) == [*range(300)]
        assert dispatcher._occupancy.queued <= 1000 + len(subscriptions)
        await eventually(lambda: harness.ledger.count()[0] > 28_000)
        for number in range(300, 310):
            harness.send(events([number]), *subscriptions)
            await eventually(partial(has_seen, live, number + 1), seconds=1)


class Forgetful(BatchSender):
    """Never comes back from its first attempt."""

    async def send(self, target, payloads):
        if not self.batches:
            self.batches.append([])
            await asyncio.Event().wait()
        return await super().send(target, payloads)


async def test_a_sender_that_forgets_the_time_loses_its_place_and_not_the_delivery(harness, monkeypatch):
    monkeypatch.setattr(queue_module, "_GRACE_SECONDS", 0.0)
    sender = Forgetful()
    async with harness.delivering(sender, timeout_seconds=0.05) as dispatcher:
        harness.send(events([0]), harness.subscribe("http://127.0.0.1:1/"))
        await eventually(lambda: sender.batches)
        await asyncio.sleep(0.06)
        await dispatcher._queues.poll()
        await eventually(harness.settled)
    assert [row.verdict for row in harness.attempts()] == ["again", "done"]


async def test_a_breaker_that_opens_while_the_ledger_is_read_does_not_strand_what_was_read(
    harness, monkeypatch
):
    """What is put into a queue before an obstacle would take the only queue_id that the asking again has."""
    is_up = False
    async with RawSink(lambda _: answer(200) if is_up else answer(503)) as sink:
        subscription = harness.subscribe(sink.url)
        async with harness.delivering(
            breaker_failures=1, breaker_seconds=0.05, breaker_max_seconds=0.05, retries=10_000
        ) as dispatcher:
            payloads = dispatcher._events.payloads

            async def slow(waits):
                """Let the breaker open again between the look into the ledger and what is put."""
                found = await payloads(waits)
                for queue in dispatcher._queues.existing(subscription):
                    if waits and not is_up and not queue.breaker.is_open:
                        queue.breaker.failed()
                return found

            monkeypatch.setattr(dispatcher._events, "payloads", slow)
            harness.send([sample(number) for number in range(5)], subscription)
            await eventually(lambda: len(sink.requests) > 0)
            await asyncio.sleep(0.3)
            is_up = True
            await eventually(harness.settled)
        assert {request["ce-id"] for request in sink.requests} == {str(number) for number in range(5)}
    assert harness.ledger.count() == (0, 0)
