"""Settling alone: a delivery is settled where it came from only when the ledger has all that is still to be done."""

import pytest
from tests.delivery.harness import sample

from headrace.clock import CLOCK
from headrace.delivery.attempt.outcome import Outcome, Verdict
from headrace.delivery.attempt.payload import Payload
from headrace.delivery.queue.delivery import Delivery
from headrace.events.positions import LogPosition
from headrace.events.recorded import Arrival, Recorded
from headrace.ledger.ledger import Key
from headrace.ledger.schedule import HELD
from headrace.subscriptions.delivery.spec import Ordering

AGAIN = Outcome(Verdict.AGAIN, "status 503", 503)
NEVER = Outcome(Verdict.NEVER, "status 400", 400)


class Settling:
    """The settlement of one subscription's deliveries: one position each, begun by hand."""

    def __init__(self, harness, dispatcher, subscription):
        self.harness = harness
        self.dispatcher = dispatcher
        self.subscription = subscription
        self.settlement = dispatcher._settlement

    @property
    def queue(self):
        return self.dispatcher._queues.get(self.subscription)

    def begin(self, count):
        self.dispatcher._progress.log.read_to(LogPosition.at(count))
        return [self._begin(position) for position in range(count)]

    def _begin(self, position):
        self.dispatcher._progress.log.begin(position)
        self.dispatcher._occupancy.queued += 1
        payload = Payload(Recorded(position, 0, Arrival(sample(position), "default", "default")))
        return Delivery(Key(self.subscription, position), payload, since=1.0)

    def attempted(self, deliveries, outcome):
        self.settlement.attempted(self.queue, deliveries, outcome, 0.0, 0.1)

    @property
    def settled(self):
        return self.dispatcher._progress.log.settled().get(0, 0)

    def waits(self):
        return self.harness.ledger.in_order(self.subscription, 100)


@pytest.fixture
async def settling(harness, at_rest):
    async def make(spec=None, **changes):
        subscription = harness.subscribe("http://127.0.0.1:1/", spec or {})
        dispatcher = at_rest(**changes)
        await dispatcher._changes.refresh()
        return Settling(harness, dispatcher, subscription)

    return make


async def test_what_is_acknowledged_is_settled_at_once(settling):
    it = await settling()
    it.attempted(it.begin(2), Outcome(Verdict.DONE))
    assert it.settled == 2
    await it.settlement.join()
    assert (it.harness.ledger.count(), it.harness.ledger.cursor()) == ((0, 0), LogPosition.at(2))


@pytest.mark.parametrize("outcome", [AGAIN, NEVER])
async def test_what_failed_is_settled_when_the_ledger_has_it(settling, outcome):
    it = await settling()
    it.attempted(it.begin(1), outcome)
    assert it.settled == 0
    await it.settlement.poll()
    assert it.settled == 1
    assert it.harness.ledger.count() == ((1, 0) if outcome is AGAIN else (0, 1))


async def test_a_failed_commit_settles_nothing(settling, monkeypatch):
    it = await settling()

    def fail(_):
        raise OSError("the disk is gone")

    monkeypatch.setattr(it.dispatcher._ledger.ledger, "commit", fail)
    it.attempted(it.begin(1), AGAIN)
    with pytest.raises(OSError, match="gone"):
        await it.settlement.poll()
    assert it.settled == 0


async def test_retries_have_an_end_and_the_event_is_kept(settling):
    it = await settling({"retry": 2})
    (delivery,) = it.begin(1)
    for attempts in range(3):
        it.attempted([delivery._replace(attempts=attempts, waited=attempts > 0)], AGAIN)
        await it.settlement.poll()
    assert it.waits() == []
    (dead,) = it.harness.dead()
    assert (dead.attempts, dead.reason) == (3, "status 503")


async def test_an_ordered_head_that_failed_stays_in_its_queue_and_the_ledger_knows_it(settling):
    it = await settling({"ordering": Ordering.ORDERED})
    it.attempted(it.begin(1), AGAIN)
    await it.settlement.poll()
    assert it.settled == 1
    assert (it.queue.queued, len(it.waits())) == (1, 1)
    assert it.queue.state.held == {Key(it.subscription, 0)}


async def test_what_hangs_is_held_by_the_ledger_and_let_go_with_its_outcome(settling):
    it = await settling()
    (delivery,) = it.begin(1)
    it.settlement.save(it.queue, [delivery])
    await it.settlement.poll()
    (wait,) = it.waits()
    assert (it.settled, wait.due, wait.attempts) == (1, HELD, 0)
    it.attempted([delivery._replace(waited=True)], Outcome(Verdict.DONE))
    await it.settlement.poll()
    assert it.waits() == []
    assert not it.queue.state.held


async def test_a_dead_letter_and_the_end_of_its_delivery_are_one_commit(settling, monkeypatch):
    it = await settling({"dead_letter_sink": "http://127.0.0.1:1/dead"})
    commits = []
    commit = it.dispatcher._ledger.ledger.commit

    def recording(changes):
        commits.append(changes)
        commit(changes)

    monkeypatch.setattr(it.dispatcher._ledger.ledger, "commit", recording)
    (delivery,) = it.begin(1)
    it.attempted([delivery._replace(waited=True, attempts=1)], NEVER)
    await it.settlement.poll()
    (changes,) = commits
    assert [wait.key.stage for wait in changes.waits] == ["dead-letter"]
    assert changes.finished == [Key(it.subscription, 0)]


async def test_the_retry_is_due_after_the_backoff(settling):
    it = await settling(backoff_seconds=5.0)
    before = CLOCK.time()
    it.attempted(it.begin(1), AGAIN)
    await it.settlement.poll()
    (wait,) = it.waits()
    assert before + 4.0 < wait.due < CLOCK.time() + 6.0
