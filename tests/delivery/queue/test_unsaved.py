"""Nobody's hanging sink is another's repetition: what is in memory alone holds the cursor for a moment only."""

import asyncio
from collections import Counter, defaultdict

import pytest
from tests.delivery.harness import Harness, eventually, sample
from tests.delivery.test_replays import Past

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.queue import unsaved as unsaved_module
from headrace.events.positions import LogPosition
from headrace.subscriptions.delivery.spec import Ordering

HOUR = 3600.0
QUICKLY = {"memory_seconds": 0.1, "timeout_seconds": HOUR, "shutdown_seconds": 0.1}


@pytest.fixture
def harness(tmp_path):
    harness = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db")
    yield harness
    harness.close()


class Sinks:
    """Sinks in memory: those that hang do so until they are let go, the others acknowledge at once."""

    def __init__(self, *hanging):
        self.hanging = set(hanging)
        self.free = asyncio.Event()
        self.begun = defaultdict(list)
        self.acknowledged = defaultdict(list)
        self.under_way: Counter[tuple[str, int]] = Counter()
        self.most_under_way: Counter[tuple[str, int]] = Counter()
        self.outcome = Outcome(Verdict.DONE)

    async def send(self, target, payloads):
        numbers = [int(payload.recorded.event.id) for payload in payloads]
        self.begun[target.owner] += numbers
        if target.owner in self.hanging:
            await self._hang([(target.owner, number) for number in numbers])
        await asyncio.sleep(0)
        self.acknowledged[target.owner] += numbers
        return self.outcome if target.owner in self.hanging else Outcome(Verdict.DONE)

    async def _hang(self, deliveries):
        for each in deliveries:
            self.under_way[each] += 1
            self.most_under_way[each] = max(self.most_under_way[each], self.under_way[each])
        try:
            await self.free.wait()
        finally:
            self.under_way.subtract(deliveries)

    async def forget(self, owner):
        pass

    async def close(self):
        pass


def send(harness, numbers, *subscriptions):
    harness.send([sample(number) for number in numbers], *subscriptions)


def subscribe(harness, **spec):
    return harness.subscribe("http://127.0.0.1:1/", spec)


async def test_a_graceful_stop_repeats_nothing_that_was_acknowledged(harness):
    """One tenant's sink hangs for up to an hour; another's acknowledges 1,500."""
    stuck, live = subscribe(harness), subscribe(harness)
    sinks = Sinks(stuck)
    async with harness.delivering(sinks, **QUICKLY | {"memory_seconds": HOUR}):
        for start in range(0, 1500, 100):
            send(harness, range(start, start + 100), stuck, live)
        await eventually(lambda: len(sinks.acknowledged[live]) == 1500 and sinks.begun[stuck])
    assert harness.ledger.cursor() == LogPosition.at(1500)
    again = Sinks()
    async with harness.delivering(again):
        await eventually(harness.settled)
    assert again.begun[live] == [], "0 are repeated"
    assert sorted(again.acknowledged[stuck]) == [*range(1500)], "and none is lost"


async def test_the_cursor_waits_for_no_sink_that_hangs(harness):
    """So a crash repeats nothing of the others' either, and the outbox can be cleared."""
    stuck, live = subscribe(harness), subscribe(harness)
    sinks = Sinks(stuck)
    async with harness.crashing(sinks, **QUICKLY):
        send(harness, range(300), stuck, live)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(300))
        assert len(sinks.begun[stuck]) == 16, "the rest is queued behind them"
    again = Sinks()
    async with harness.delivering(again):
        await eventually(harness.settled)
    assert (again.begun[live], sorted(again.acknowledged[stuck])) == ([], [*range(300)])


@pytest.mark.parametrize("ordering", list(Ordering))
async def test_what_is_under_way_is_not_begun_a_second_time(harness, ordering):
    """The ledger has it as waiting while the attempt goes on."""
    stuck = subscribe(harness, ordering=ordering)
    sinks = Sinks(stuck)
    async with harness.delivering(sinks, **QUICKLY) as dispatcher:
        send(harness, range(40), stuck)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(40))
        assert harness.ledger.due(stuck, "sink", CLOCK.time(), 99) == [], "nobody has to look for it"
        await dispatcher._retries._take_up((stuck, "sink"))
        send(harness, range(40, 60), stuck)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(60))
        sinks.free.set()
        await eventually(harness.settled)
    assert set(sinks.most_under_way.values()) == {1}
    assert Counter(sinks.acknowledged[stuck]) == Counter(range(60))
    if ordering is Ordering.ORDERED:
        assert sinks.acknowledged[stuck] == [*range(60)]
    assert harness.ledger.count() == (0, 0)


@pytest.mark.parametrize("ordering", list(Ordering))
async def test_what_goes_back_to_the_ledger_is_due_again(harness, ordering):
    """A pause takes back what is queued, of which the ledger was told that it is held here."""
    stuck = subscribe(harness, ordering=ordering)
    sinks = Sinks(stuck)
    async with harness.delivering(sinks, **QUICKLY):
        send(harness, range(40), stuck)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(40))
        harness.store.wish(stuck, paused=True)  # more may begin until the dispatcher has seen it
        await eventually(
            lambda: len(harness.ledger.due(stuck, "sink", CLOCK.time(), 99)) == 40 - len(sinks.begun[stuck])
        )
        sinks.free.set()
        harness.store.wish(stuck, paused=False)
        await eventually(harness.settled)
    assert Counter(sinks.acknowledged[stuck]) == Counter(range(40))


async def test_a_long_attempt_that_fails_is_tried_again_and_counted(harness):
    stuck = subscribe(harness, retry=1)
    sinks = Sinks(stuck)
    async with harness.delivering(sinks, **QUICKLY):
        send(harness, range(3), stuck)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(3))
        sinks.outcome = Outcome(Verdict.AGAIN, "busy")
        sinks.free.set()
        await eventually(lambda: harness.ledger.count() == (0, 3))
    assert Counter(row.attempt for row in harness.attempts()) == {1: 3, 2: 3}


async def test_a_long_attempt_of_a_replay_holds_up_neither_it_nor_what_is_live(harness):
    stuck, live = subscribe(harness), subscribe(harness)
    sinks = Sinks(stuck)
    past = Past(harness, stuck)
    past.append(range(100, 110))
    past.complete()
    async with harness.delivering(sinks, **QUICKLY):
        send(harness, range(10), live)
        await eventually(lambda: harness.ledger.replay_cursor(past.id) == 10)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(10))
    again = Sinks()
    async with harness.delivering(again):
        await eventually(lambda: sorted(again.acknowledged[stuck]) == [*range(100, 110)])
    assert again.begun[live] == []


async def test_a_lane_whose_subscription_was_deleted_does_not_hold_the_cursor(harness):
    stuck = subscribe(harness)
    sinks = Sinks(stuck)
    async with harness.delivering(sinks, **QUICKLY):
        send(harness, range(3), stuck)
        await eventually(lambda: sinks.begun[stuck])
        harness.store.delete(stuck, lambda: LogPosition.at(harness.log.end))
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(3))


async def test_a_stop_in_the_middle_of_a_part_repeats_nothing_of_it(harness):
    """The outbox is read in parts of several events; the stop comes when some of one have begun."""
    subscriptions = [subscribe(harness) for _ in range(30)]
    sinks = Sinks()
    send(harness, range(200), *subscriptions)  # one part, six slices
    async with harness.delivering(sinks):
        await eventually(lambda: any(sinks.acknowledged.values()))
    first = {each: list(numbers) for each, numbers in sinks.acknowledged.items()}
    async with harness.delivering(sinks):
        await eventually(harness.settled)
    assert any(len(numbers) < 200 for numbers in first.values()), "it was stopped in the middle"
    assert {each: Counter(numbers) for each, numbers in sinks.acknowledged.items()} == {
        each: Counter(range(200)) for each in subscriptions
    }


async def test_many_hanging_sinks_are_written_down_little_by_little(harness, monkeypatch):
    monkeypatch.setattr(unsaved_module, "_MOST_AT_A_TIME", 50)
    stuck = [subscribe(harness) for _ in range(20)]
    sinks = Sinks(*stuck)
    async with harness.delivering(sinks, **QUICKLY | {"memory_seconds": HOUR}) as dispatcher:
        send(harness, range(20), *stuck)
        await eventually(lambda: all(sinks.begun[each] for each in stuck))
        dispatcher._unsaved._seconds = 0.0
        before = len(dispatcher._journal._waits)
        await dispatcher._unsaved.poll()
        assert 50 <= len(dispatcher._journal._waits) - before < 50 + 20
    assert harness.ledger.cursor() == LogPosition.at(20), "a stop writes them all"
