import asyncio
import time
from collections import Counter

import pytest
from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.raw_sink import answer

from headrace.database.work_queue import State
from headrace.delivery.queue.pace import Pace
from headrace.events.batch import to_batch
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival
from headrace.jobs.job import Job
from headrace.jobs.replays import MARK, Replay

LONG = 60.0


class Past:
    """A replay in the making: what the pipeline does, without a search."""

    def __init__(
        self, harness: Harness, subscription: str, *, rate: float | None = None, marked: bool = True
    ) -> None:
        self.harness = harness
        self.id = harness.jobs.add(Job("replay", {}, subscription)).id
        claim = harness.jobs.take(LONG)
        assert claim is not None
        self.claim = claim
        harness.replays.begin(self.claim, Replay(self.id, subscription, rate, marked), {})

    def append(self, numbers: range) -> None:
        arrivals = [Arrival(sample(number), "default", "default") for number in numbers]
        self.harness.replays.append(self.claim, to_batch(arrivals, numbers.start, 1), {})

    def complete(self) -> None:
        self.harness.replays.complete(self.claim)

    def is_over(self) -> bool:
        return self.harness.jobs.get(self.id).state.is_end

    @property
    def result(self) -> object:
        return self.harness.jobs.get(self.id).result


def is_marked(request):
    return bool(request.values(f"ce-{MARK}"))


def numbers(requests):
    return sorted(int(request["ce-id"]) for request in requests)


async def test_a_replay_is_delivered_marked_beside_what_is_live(harness, sink):
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        past = Past(harness, subscription)
        past.append(range(100, 140))
        harness.send([sample(number) for number in range(30)], subscription)
        past.append(range(200, 220))
        past.complete()
        await eventually(past.is_over)
        await eventually(harness.settled)
    replayed = [request for request in sink.requests if is_marked(request)]
    live = [request for request in sink.requests if not is_marked(request)]
    assert numbers(replayed) == [*range(100, 140), *range(200, 220)]
    assert {request[f"ce-{MARK}"] for request in replayed} == {past.id}
    assert numbers(live) == [*range(30)]
    assert past.result == {"found": 60, "delivered": 60, "dead": 0}
    assert harness.replays.waiting_chunks(past.id) == 0


async def test_a_catch_up_is_delivered_as_if_it_were_live(harness, sink):
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        past = Past(harness, subscription, marked=False)
        past.append(range(5))
        past.complete()
        await eventually(past.is_over)
    assert numbers(sink.requests) == [*range(5)]
    assert not any(is_marked(request) for request in sink.requests)


async def test_the_same_event_live_and_replayed_never_meets_itself(harness, sink):
    """Both fail at first, so that both wait in the ledger at once."""
    refused: Counter[bool] = Counter()

    def refuse_once(request):
        is_replay = is_marked(request)
        refused[is_replay] += 1
        return answer(503 if refused[is_replay] == 1 else 200)

    sink.reply = refuse_once
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        (position,) = harness.send([sample(0)], subscription)
        past = Past(harness, subscription)
        past.append(range(position, position + 1))
        past.complete()
        await eventually(past.is_over)
        await eventually(harness.settled)
    assert refused == {True: 2, False: 2}


async def test_what_fails_is_tried_again_from_its_chunk_and_given_up_in_the_end(harness, sink):
    attempts: Counter[str] = Counter()

    def judge(request):
        attempts[request["ce-id"]] += 1
        if request["ce-id"] == "7":
            return answer(400)
        return answer(200 if attempts[request["ce-id"]] > 2 or int(request["ce-id"]) % 5 else 503)

    sink.reply = judge
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        past = Past(harness, subscription)
        past.append(range(10))
        past.append(range(10, 20))
        past.complete()
        await eventually(past.is_over)
    assert past.result == {"found": 20, "delivered": 19, "dead": 1}
    assert attempts == {str(n): 3 if n % 5 == 0 else 1 for n in range(20)}


async def test_a_crash_repeats_little_and_loses_nothing(harness, sink):
    subscription = harness.subscribe(sink.url + "/a")
    past = Past(harness, subscription, rate=300.0)
    past.append(range(150))
    past.append(range(150, 300))
    async with harness.crashing():
        await eventually(lambda: len(sink.requests) >= 40)
    async with harness.crashing():
        await eventually(lambda: len(sink.requests) >= 200)
    past.complete()
    async with harness.delivering():
        await eventually(past.is_over)
    arrived = Counter(int(request["ce-id"]) for request in sink.requests)
    assert sorted(arrived) == [*range(300)]
    assert arrived.total() < 400
    assert past.result == {"found": 300, "delivered": 300, "dead": 0}


async def test_waits_survive_a_crash_with_their_chunk(harness, sink):
    sink.reply = lambda request: answer(503 if request["ce-id"] == "3" else 200)
    subscription = harness.subscribe(sink.url + "/a")
    past = Past(harness, subscription)
    past.append(range(6))
    past.append(range(6, 12))
    past.complete()
    async with harness.crashing(retries=1000):
        await eventually(lambda: harness.replays.find(past.id).delivered == 11)
        await eventually(lambda: harness.replays.waiting_chunks(past.id) == 1)
    sink.reply = lambda _: answer(200)
    async with harness.delivering():
        await eventually(past.is_over)
    assert past.result == {"found": 12, "delivered": 12, "dead": 0}


@pytest.mark.parametrize("end", ["cancel", "unsubscribe"])
async def test_nothing_goes_out_after_the_end(harness, sink, end):
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        past = Past(harness, subscription, rate=50.0)
        past.append(range(1000))
        await eventually(lambda: len(sink.requests) > 3)
        if end == "cancel":
            harness.jobs.cancel(past.id)
        else:
            harness.store.delete(subscription, lambda: LogPosition.at(harness.log.end))
        await eventually(lambda: harness.replays.waiting_chunks(past.id) == 0)
        seen = len(sink.requests)
        await asyncio.sleep(0.2)
        assert len(sink.requests) == seen < 1000
    assert harness.jobs.get(past.id).state is State.CANCELLED
    assert harness.ledger.count() == (0, 0)


async def test_a_slow_replay_leaves_the_lane_to_what_is_live(harness, sink):
    """A replay that could fill every queue waits, and a live event passes through at once."""
    held = asyncio.Event()

    async def hold():
        await held.wait()
        yield answer(200)

    sink.reply = lambda request: hold() if is_marked(request) else answer(200)
    subscription = harness.subscribe(sink.url + "/a")
    async with harness.delivering(concurrency=2, queue_length=8):
        past = Past(harness, subscription)
        past.append(range(100, 200))
        past.complete()
        await eventually(lambda: len(sink.requests) == 2)
        harness.send([sample(number) for number in range(3)], subscription)
        await asyncio.sleep(0.1)
        held.set()
        await eventually(harness.settled)
        order = [request["ce-id"] for request in sink.requests]
        # Behind two attempts under way and a quarter of the queue, and not behind the whole replay.
        assert max(order.index(str(number)) for number in range(3)) < 20
        await eventually(past.is_over)


async def test_the_pace_is_kept_and_no_pause_is_made_up_for():
    pace = Pace(100.0)
    began = time.monotonic()
    for _ in range(20):
        await pace.turn()
    first = time.monotonic() - began
    await asyncio.sleep(0.2)
    again = time.monotonic()
    for _ in range(20):
        await pace.turn()
    assert first > 0.18
    assert time.monotonic() - again > 0.18
