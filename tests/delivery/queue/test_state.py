"""The laws of a queue's state, tried on generated histories: nothing is lost, order is kept, memory is bounded."""

import random
from itertools import chain
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule
from tests.examples import THOROUGH, examples

from headrace.delivery.queue.delivery import Delivery
from headrace.delivery.queue.order import OrderedBuffer
from headrace.delivery.queue.state import QueueState, Write, order_key
from headrace.ledger.ledger import Key
from headrace.subscriptions.delivery.spec import Ordering

ATTEMPTS, BATCH = 4, 3  # at a time


def delivery(position, partitionkey=None, **fields):
    attributes = {} if partitionkey is None else {"partitionkey": partitionkey}
    payload = SimpleNamespace(recorded=SimpleNamespace(event=SimpleNamespace(attributes=attributes)))
    return Delivery(Key("a", position), payload, since=1.0, **fields)  # type: ignore[arg-type]


class History(RuleBasedStateMachine):
    """Plays the dispatcher around one queue: a ledger, writes that are not durable yet, attempts under way."""

    @initialize(ordering=st.sampled_from(Ordering), capacity=st.integers(2, 8), is_recovering=st.booleans())
    def begin(self, ordering, capacity, is_recovering):
        self.state = QueueState(ordering, capacity)
        self.state.begin()
        self.state.learn_keys(are_there=True)
        self.is_recovering = is_recovering
        self.now = 100.0
        self.known: dict[int, Delivery] = {}  # as it was accepted
        self.settled: set[int] = set()
        self.ledger: dict[int, Delivery] = {}
        self.pending: list[tuple[Delivery, Write | None]] = []  # without a reason: it is finished
        self.under_way: list[list[Delivery]] = []
        self.look: Any = None  # with the room and the rows that were read
        self.ledger_is_read_at_once()

    # What the dispatcher does with what the state gives out

    def write(self, deliveries, why):
        for each in deliveries:
            kind = Write.JOINS_PARKED if why is Write.ARRIVES and self.state.is_parked(each) else why
            self.state.writing(kind)
            self.pending.append((each, kind))

    def part(self):
        self.write(self.state.part(), Write.ARRIVES)

    def order(self, each):
        if self.state.ordering is Ordering.ORDERED:
            return None
        return each.payload.recorded.event.attributes.get("partitionkey", each.key)

    @rule(partitionkeys=st.lists(st.sampled_from(["x", "y", None]), min_size=1, max_size=4))
    def deliveries_come(self, partitionkeys):
        for each in partitionkeys:
            self.one_comes(each)

    def one_comes(self, partitionkey):
        new = delivery(len(self.known), partitionkey)
        self.known[new.key.position] = new
        has_room = len(self.state) < max(1, self.state.capacity // 2)
        if not has_room:
            self.write(self.state.park(), Write.LEAVES)
            has_room = len(self.state) < max(1, self.state.capacity // 2)
        spilled = self.state.accept(new, has_room=has_room, is_recovering=self.is_recovering)
        self.write(spilled, Write.ARRIVES)

    @rule()
    def writes_become_durable(self):
        pending, self.pending = self.pending, []
        for each, why in pending:
            if why is None:
                self.ledger.pop(each.key.position, None)
                self.state.let_go(each.key)
            else:
                self.ledger[each.key.position] = each._replace(waited=True)
                self.state.made_durable(why)

    @rule()
    def everything_is_read_again_after_the_start(self):
        self.is_recovering = False

    @precondition(lambda self: self.look is None)
    @rule()
    def the_ledger_is_read(self):
        room = self.state.capacity - len(self.state)
        if room <= 0:
            self.part()
            self.write(self.state.park(), Write.LEAVES)
            self.state.expect_more()
            return
        if not self.state.is_ordered:
            self.look = None, room, self.rows()
            return
        look = self.state.look(is_recovering=self.is_recovering)
        if look is None:
            return
        if self.state.is_arriving:
            self.writes_become_durable()
        left_out = {order_key(each) for each in look.left_out}
        rows = [each for each in self.rows() if self.state.order_key(each) not in left_out]
        self.look = look, room, rows

    def rows(self):
        """What the ledger has and isn't here, in its order."""
        rows = [self.ledger[position] for position in sorted(self.ledger)]
        return [each for each in rows if each.key not in self.state.held]

    @precondition(lambda self: self.look is not None)
    @rule()
    def what_was_read_is_taken_up(self):
        (look, room, new), self.look = self.look, None
        if look is not None and self.state.is_stale(look):
            self.part()
            self.state.expect_more()
            return
        if look is None:
            room = self.state.capacity - len(self.state)
        for each in new[: max(0, room)]:
            self.state.take_up(each)
        if look is None:
            self.state.learn_backlog(is_more=len(new) > room)
            return
        joining = self.state.rejoin(look, is_more=len(new) > room)
        if joining is None:
            self.part()
            self.write(self.state.park(), Write.LEAVES)
        for each in joining or ():
            self.state.take_up(each)

    @precondition(lambda self: self.look is None)
    @rule()
    def ledger_is_read_at_once(self):
        self.the_ledger_is_read()
        if self.look is not None:
            self.what_was_read_is_taken_up()

    # Attempts

    @precondition(lambda self: len(self.under_way) < ATTEMPTS)
    @rule(most=st.integers(1, BATCH))
    def an_attempt_begins(self, most):
        taken = self.state.take(most, self.now)
        if not taken:
            return
        if self.state.is_ordered:
            self.assert_nothing_is_overtaken(taken)
        self.under_way.append(taken)

    def assert_nothing_is_overtaken(self, taken):
        begun = {each.key.position for each in taken}
        for each in taken:
            ahead = [
                position
                for position, other in self.known.items()
                if position < each.key.position and self.order(other) == self.order(each)
            ]
            assert set(ahead) <= self.settled | begun, f"{each.key.position} overtakes one of {ahead}"
        numbers = [each.key.position for each in taken]
        if self.state.ordering is Ordering.ORDERED:
            assert numbers == sorted(numbers)

    @precondition(lambda self: self.under_way)
    @rule(which=st.integers(0, 100))
    def an_attempt_succeeds(self, which):
        deliveries = self.under_way.pop(which % len(self.under_way))
        for each in deliveries:
            self.settled.add(each.key.position)
            if each.waited:
                self.pending.append((each, None))
        self.state.release(deliveries)

    @precondition(lambda self: self.under_way)
    @rule(which=st.integers(0, 100), wait=st.integers(0, 3))
    def an_attempt_fails(self, which, wait):
        deliveries = self.under_way.pop(which % len(self.under_way))
        again = [each._replace(attempts=each.attempts + 1, due=self.now + wait) for each in deliveries]
        if self.state.is_ordered:
            self.write(again, Write.STAYS)
            self.state.stay([each._replace(waited=True) for each in again])
        else:
            self.state.leave()
            self.write(again, Write.LEAVES)
            for each in again:
                self.state.let_go(each.key)
        self.state.release(deliveries)

    @rule()
    def everything_is_spilled(self):
        self.write(self.state.spill(), Write.LEAVES)

    @rule()
    def what_is_old_is_saved(self):
        if self.state.joins_since(2.0):
            self.part()
        saved = self.state.buffer.save(2.0)
        self.state.hold(each.key for each in saved)
        self.write(saved, Write.STAYS)

    @rule(seconds=st.integers(1, 3))
    def time_passes(self, seconds):
        self.now += seconds

    # The laws

    def in_memory(self):
        buffered = self.state.buffer
        queued = (
            list(chain(*buffered._queues.values()))
            if isinstance(buffered, OrderedBuffer)
            else list(buffered._items)  # type: ignore[attr-defined]
        )
        assert len(queued) == len(buffered)
        joining = list(self.state._joining or ())
        return [each.key.position for each in [*queued, *joining, *chain(*self.under_way)]]

    @invariant()
    def nothing_is_lost_and_nothing_is_there_twice(self):
        if not hasattr(self, "state"):
            return
        here = self.in_memory()
        assert len(here) == len(set(here))
        written = {each.key.position for each, why in self.pending if why is not None}
        somewhere = set(here) | written | self.ledger.keys() | self.settled
        assert self.known.keys() <= somewhere

    @invariant()
    def memory_is_bounded(self):
        if hasattr(self, "state"):
            joined = max(1, self.state.capacity // 2)
            here = len(self.state) + sum(map(len, self.under_way))
            assert here <= self.state.capacity + joined + ATTEMPTS * BATCH
            assert self.state.joining <= max(1, self.state.capacity // 2)

    def teardown(self):
        """Whatever has happened: with a sink that accepts everything, all of it arrives."""
        if not hasattr(self, "state"):
            return
        self.is_recovering = False
        for _ in range(10 * len(self.known) + 20):
            self.now += 10
            while self.under_way:
                self.an_attempt_succeeds(0)
            self.writes_become_durable()
            if self.look is not None:
                self.what_was_read_is_taken_up()
            if self.state.backlog or self.state.must_wait or self.ledger:
                self.the_ledger_is_read()
                if self.look is not None:
                    self.what_was_read_is_taken_up()
            self.an_attempt_begins(BATCH)
        assert self.settled == self.known.keys()
        assert not self.in_memory()


TestHistory = History.TestCase
TestHistory.settings = examples(400, stateful_step_count=60, deadline=None)


def random_history(seed):
    """Walk at random, with steps as likely as they are in a busy queue: long histories that a generator rarely makes."""
    chance, history = random.Random(seed), History()
    history.begin(chance.choice(list(Ordering)[1:]), chance.randint(2, 9), chance.random() < 0.1)
    is_sick = chance.random() < 0.5  # so that `x` keeps failing

    def end():
        which = chance.randrange(len(history.under_way))
        keys = {history.order(each) for each in history.under_way[which]}
        if chance.random() < 0.3 or (is_sick and "x" in keys and chance.random() < 0.9):
            history.an_attempt_fails(which, chance.randrange(4))
        else:
            history.an_attempt_succeeds(which)

    steps = {
        5: lambda: history.deliveries_come(
            chance.choices(("x", "y", None), (3, 2, 1), k=chance.randint(1, 4))
        ),
        8: lambda: history.an_attempt_begins(chance.randint(1, BATCH)),
        15: lambda: history.under_way and end(),
        18: lambda: history.look is None and history.ledger_is_read_at_once(),
        20: lambda: history.look is None and history.the_ledger_is_read(),
        22: lambda: history.look is not None and history.what_was_read_is_taken_up(),
        23: history.everything_is_spilled,
        24: history.what_is_old_is_saved,
        26: lambda: history.time_passes(chance.randint(1, 3)),
        28: history.writes_become_durable,
        29: history.everything_is_read_again_after_the_start,
    }
    for _ in range(80):
        drawn = chance.randrange(29)
        if drawn in range(5, 8) and len(history.under_way) == ATTEMPTS:
            continue
        next(step for most, step in steps.items() if drawn < most)()
        history.nothing_is_lost_and_nothing_is_there_twice()
        history.memory_is_bounded()
    history.teardown()


@pytest.mark.parametrize("hundred", range(5 if THOROUGH else 2))
def test_long_histories(hundred):
    for seed in range(400 * hundred, 400 * (hundred + 1)):
        random_history(seed)


def test_a_digest_is_short_and_says_nothing_of_the_key():
    assert len(order_key("a customer's name")) == 16
    assert order_key("\ud800") != order_key("")


def parked(count=6, capacity=4):
    """A queue in which the head of the order `x` has failed, with others behind it."""
    state = QueueState(Ordering.PARTITIONKEY, capacity)
    for number in range(count):
        state.accept(delivery(number, "x"), has_room=True, is_recovering=False)
    taken = state.take(1, 0.0)
    state.stay([each._replace(waited=True, due=50.0) for each in taken])
    state.release(taken)
    return state, state.park()


def test_only_the_head_of_an_order_that_failed_stays_in_memory():
    state, left = parked()
    assert [each.key.position for each in left] == [1, 2, 3, 4, 5]
    assert (len(state), state.buffer.next_due()) == (1, 50.0)
    assert state.park() == []


def test_what_is_new_of_that_order_goes_to_the_ledger_and_others_do_not():
    state, _ = parked()
    new, other = delivery(9, "x"), delivery(10, "y")
    assert state.accept(new, has_room=True, is_recovering=False) == [new]
    assert state.accept(other, has_room=True, is_recovering=False) == []
    assert state.take(1, 0.0) == [other]
    assert not state.backlog


def test_once_its_head_is_settled_the_ledger_is_asked_for_the_rest():
    state, _ = parked()
    taken = state.take(1, 60.0)
    assert state.release(taken)
    assert state.backlog
    look = state.look(is_recovering=False)
    assert look is not None
    assert not look.left_out


def test_in_one_order_nothing_is_parked():
    state = QueueState(Ordering.ORDERED, 4)
    state.accept(delivery(0), has_room=True, is_recovering=False)
    state.accept(delivery(1), has_room=True, is_recovering=False)
    taken = state.take(1, 0.0)
    state.stay([each._replace(waited=True, due=50.0) for each in taken])
    state.release(taken)
    assert state.park() == []
