"""After any faults, what waits is delivered at the sink's pace once the sink is well: nothing stands still.

A simulation with a seed: the real dispatcher, sinks in memory that fail, hang and put off, stops, crashes and pauses.
"""

import asyncio
import random
from collections import Counter, defaultdict
from functools import partial

import pytest
from tests.delivery.harness import Harness, eventually, sample

from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.queue import queues as queues_module
from headrace.delivery.retry import retries as waiting_module
from headrace.ledger.ledger import Changes, Key, Wait
from headrace.subscriptions.delivery.spec import Ordering

# Ordering and size of a batch.
KINDS = [
    (Ordering.ORDERED, 1),
    (Ordering.ORDERED, 8),
    (Ordering.PARTITIONKEY, 1),
    (Ordering.PARTITIONKEY, 5),
    (Ordering.UNORDERED, 1),
    (Ordering.UNORDERED, 6),
]
REDRIVEN = b'{"specversion":"1.0","id":"-1","source":"/s","type":"t"}'


class MoodySinks:
    def __init__(self, chance):
        self._chance = chance
        self.is_well = False
        self.badness = defaultdict(lambda: 0.1)
        self.accepted = defaultdict(list)

    async def send(self, target, payloads):
        await asyncio.sleep(self._chance.random() * 0.003)
        luck = self._chance.random() / self.badness[target.owner]
        if not self.is_well and luck < 1.0:
            return Outcome(Verdict.AGAIN, "busy", 503)
        if not self.is_well and luck < 1.2:
            await asyncio.sleep(self._chance.random())
            return Outcome(Verdict.AGAIN, "nothing came of it")
        if not self.is_well and luck < 1.3:
            return Outcome(Verdict.AGAIN, "not yet", retry_after=self._chance.random() / 4, attempted=False)
        self.accepted[target.owner] += [int(payload.recorded.event.id) for payload in payloads]
        return Outcome(Verdict.DONE)

    async def forget(self, owner):
        pass

    async def close(self):
        pass


class Faults:
    """Sends events and makes trouble."""

    def __init__(self, harness, chance, sinks):
        self._harness, self._chance, self._sinks = harness, chance, sinks
        self.subscriptions = [self._subscribe(*kind) for kind in KINDS]
        self.sent = 0

    def _subscribe(self, ordering, batch):
        spec = {"ordering": ordering, "concurrency": self._chance.choice([1, 4]), "batch_age": 0.05}
        subscription = self._harness.subscribe("http://127.0.0.1:1/", spec | {"batch_size": batch})
        if batch > 1:
            settings = {"mode": "batched", "method": "POST"}
            self._harness.store.wish(subscription, protocolsettings=settings)
        return subscription

    async def make(self, steps):
        for _ in range(steps):
            numbers = range(self.sent, self.sent + self._chance.choice([1, 3, 10, 40]))
            events = [sample(each, partitionkey=self._chance.choice("abc")) for each in numbers]
            self._harness.send(events, *self.subscriptions)
            self.sent = numbers.stop
            self._trouble(self._chance.choice(self.subscriptions))
            await asyncio.sleep(self._chance.random() * 0.05)

    def _trouble(self, subscription):
        luck = self._chance.random()
        if luck < 0.1:
            self._sinks.badness[subscription] = self._chance.choice([0.01, 0.1, 0.5, 0.95])
        elif luck < 0.2:
            key = Key(subscription, self._chance.randrange(self.sent), f"redrive-{self.sent}")
            self._harness.ledger.commit(Changes([Wait(key, 0, 0.0, "redriven", REDRIVEN)], [], [], None))
        elif luck < 0.25:
            self._harness.store.wish(subscription, paused=True)

    def heal(self):
        for subscription in self.subscriptions:
            self._harness.store.wish(subscription, paused=False)
        self._sinks.is_well = True


@pytest.mark.parametrize("seed", [1, 2, 3])
async def test_nothing_stands_still_once_the_sink_is_well(tmp_path, monkeypatch, seed):
    chance = random.Random(seed)
    # The look at all that waits would hide a wake-up that was lost, for a second at a time.
    monkeypatch.setattr(waiting_module, "_LOOK_SECONDS", 600.0)
    monkeypatch.setattr(queues_module, "_IDLE_SECONDS", chance.choice([0.0, 60.0]))
    harness, sinks = Harness(tmp_path, f"sqlite:///{tmp_path}/delivery.db", patience=10.0), MoodySinks(chance)
    faults = Faults(harness, chance, sinks)
    settings = {
        "queue_length": chance.choice([20, 100, 1000]),
        "memory_seconds": chance.choice([0.05, 0.3, 2.0]),
        "breaker_failures": chance.choice([0, 2, 5]),
        "retries": 100_000,
        "backoff_max_seconds": 0.3,
        "breaker_seconds": 0.05,
        "breaker_max_seconds": 0.5,
        "shutdown_seconds": 0.1,
    }
    for way in chance.choices([harness.crashing, harness.delivering], k=chance.randrange(3)):
        async with way(sinks, **settings):
            await faults.make(15)
    async with harness.delivering(sinks, **settings):
        await faults.make(15)
        faults.heal()
        redriven = partial(_redriven, harness)
        await eventually(lambda: harness.settled() or redriven())
    for subscription, (ordering, _) in zip(faults.subscriptions, KINDS, strict=True):
        accepted = [each for each in dict.fromkeys(sinks.accepted[subscription]) if each >= 0]
        assert Counter(accepted) == Counter(range(faults.sent)), "nothing is lost"
        assert ordering is not Ordering.ORDERED or accepted == sorted(accepted)
    harness.close()


def _redriven(harness):
    """Tell whether all that waits was put there from elsewhere, which only the look at all that waits finds."""
    entries = [
        wait for each in harness.ledger.earliest() for wait in harness.ledger.in_order(each.subscription, 500)
    ]
    return all(wait.key.replay for wait in entries) and harness.ledger.cursor()[0] == harness.log.end
