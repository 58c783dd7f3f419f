"""A subscription sees exactly the events accepted after it was created, and none after it was deleted.

The API, the log and the pipeline run in steps here, one at a time, in every order that hypothesis thinks of. The
API's and the pipeline's steps are those of the real store: they can be held up wherever another process could
come between, which is before and after the end of the log is read.
"""

import threading
from dataclasses import dataclass, field

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.conftest import new_database
from tests.opening import opening
from tests.subscriptions.stores import proposal

from headrace.errors import NotFound
from headrace.events.positions import LogPosition
from headrace.subscriptions.imports.batch import Lot
from headrace.subscriptions.store.store import Store


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def store(request):
    with new_database(request) as url, opening(Store, url) as opened:
        yield opened


class Actor:
    """Work in a thread of its own that goes on only when it is told to, from one pause to the next."""

    def __init__(self, work):
        self._go, self._stopped = threading.Semaphore(0), threading.Semaphore(0)
        self._work = work
        self._error = None
        self.done = False
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        self._go.acquire()
        try:
            self._work(self.pause)
        except BaseException as error:  # noqa: BLE001  it is raised where the test can see it
            self._error = error
        self.done = True
        self._stopped.release()

    def pause(self):
        self._stopped.release()
        self._go.acquire()

    def step(self):
        if not self.done:
            self._go.release()
            assert self._stopped.acquire(timeout=30)
            if self._error is not None:
                raise self._error

    def finish(self):
        while not self.done:
            self.step()
        self._thread.join()


API_STEPS = 7  # of `World.live`


@dataclass
class Life:
    """When, on the world's clock, a subscription's creation and deletion began and returned."""

    id: str
    times: dict[str, int] = field(default_factory=dict)


class World:
    """The log, the subscriptions' lives, and a pipeline that follows the store's rule."""

    def __init__(self, store):
        self.store = store
        self.clock = 0
        self.accepted = []  # by position: when the event was accepted
        self.lives = []
        self.pairs = []
        self.covered = 0
        self.stopping = False
        self._batches = []
        self._rows = {}
        self._reached = store.revision()
        self._revision = -1

    def tick(self):
        self.clock += 1
        return self.clock

    def append(self):
        self.accepted.append(self.tick())

    def end_of_log(self, pause):
        def end():
            pause()
            cut = LogPosition.at(len(self.accepted))
            pause()
            return cut

        return end

    def live(self, pause):
        """The API: somebody creates a subscription and later deletes it."""
        proposed = proposal()
        life = Life(proposed.id)
        self.lives.append(life)
        life.times["create"] = self.tick()
        created = self.store.create(proposed, self.end_of_log(pause))
        life.times["created"] = self.tick()
        assert created.created is not None
        pause()
        life.times["delete"] = self.tick()
        self.store.delete(proposed.id, self.end_of_log(pause))
        life.times["deleted"] = self.tick()

    def live_in_a_lot(self, pause):
        """The API: somebody creates several at once, and later deletes one of them."""
        proposals = [proposal(), proposal()]
        lives = [Life(each.id) for each in proposals]
        self.lives += lives
        moment = self.tick()
        with Lot() as lot:
            for each, life in zip(proposals, lives, strict=True):
                lot.add(each)
                life.times["create"] = moment
            assert self.store.create_lot(lot, self.end_of_log(pause)) == 2
        moment = self.tick()
        for life in lives:
            life.times["created"] = moment
            assert self.store.get(life.id).created is not None
        pause()
        lives[0].times["delete"] = self.tick()
        self.store.delete(lives[0].id, self.end_of_log(pause))
        lives[0].times["deleted"] = self.tick()

    def route(self, pause):
        """The pipeline: where the batch ends first, the subscriptions second, then the matches."""
        while not self.stopping:
            self.route_batch(pause)
            pause()

    def route_batch(self, pause):
        end = len(self.accepted)
        pause()
        revision = self.store.revision()
        if revision != self._revision:
            pause()
            self.store.settle(self.end_of_log(pause))
            pause()
            self._reached, changed = self.store.changes(self._reached)
            self._rows |= {row.id: row for row in changed}
            self._revision = revision
        pause()
        batch = (self.covered, end)
        matched = self.match(*batch)
        self.pairs += matched
        self._batches.append((batch, matched))
        self.covered = end
        self.check_repeatable()

    def match(self, start, end):
        return [
            (position, row.id)
            for position in range(start, end)
            for row in self._rows.values()
            if row.created is not None
            and not row.created.is_behind(position)
            and (row.deleted is None or row.deleted.is_behind(position))
        ]

    def check_repeatable(self):
        """A batch that is matched again, after a crash, gives the same pairs."""
        for batch, matched in self._batches:
            assert sorted(self.match(*batch)) == sorted(matched)

    def purge(self):
        """The dispatcher: everything routed so far was delivered."""
        self.store.purge(LogPosition.at(self.covered))

    def check(self):
        assert len(self.pairs) == len(set(self.pairs)), "a delivery was planned twice"
        for life in self.lives:
            times = life.times
            got = {self.accepted[position] for position, id_ in self.pairs if id_ == life.id}
            for moment in self.accepted:
                if times["created"] < moment < times.get("delete", self.clock + 1):
                    assert moment in got, "an event accepted while the subscription held was lost"
                if moment < times["create"]:
                    assert moment not in got, "an event from before the creation was delivered"
                if moment > times.get("deleted", self.clock + 1):
                    assert moment not in got, "an event from after the deletion was delivered"


# What happens between two steps of the API. A number is so many steps of the pipeline; a batch takes at most seven.
MEANWHILE = st.lists(st.sampled_from(["append", "append", "purge", "other", 1, 4, 5, 7, 14]), max_size=4)


@settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(MEANWHILE, min_size=API_STEPS, max_size=API_STEPS), st.booleans())
def test_exactly_the_events_between_creation_and_deletion(store, schedule, in_a_lot):
    world = World(store)
    routing, other = Actor(world.route), Actor(world.live)
    living = Actor(world.live_in_a_lot if in_a_lot else world.live)
    other.step()
    try:
        for meanwhile in schedule:
            for step in meanwhile:
                if isinstance(step, int):
                    for _ in range(step):
                        routing.step()
                else:
                    {"append": world.append, "purge": world.purge, "other": other.step}[step]()
            living.step()
        assert living.done
        other.finish()
    finally:
        world.stopping = True
        for actor in (routing, living, other):
            actor.finish()
    world.purge()
    world.append()
    world.route_batch(lambda: None)
    world.check()
    assert world.covered == len(world.accepted)


def test_the_steps_can_be_held_up_where_the_rule_matters(store):
    """The pipeline's batch ends, the row appears and is settled by the pipeline, the API comes too late."""
    world = World(store)
    routing, living = Actor(world.route), Actor(world.live)
    world.append()
    living.step()  # the row is there, without a position
    routing.step()  # the batch ends at 1
    world.append()
    for _ in range(5):
        routing.step()
    (row,) = world._rows.values()
    assert row.created == LogPosition.at(2)
    assert world.covered == 0
    world.append()
    living.finish()
    world.stopping = True
    routing.finish()
    world.route_batch(lambda: None)
    assert store.changes(0)[1][-1].created == LogPosition.at(2)
    assert [position for position, _ in world.pairs] == [2]
    world.check()
    with pytest.raises(NotFound):
        store.get(row.id)
