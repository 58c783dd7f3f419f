"""When a Bloom filter is built anew: by what was measured, and no more often than the interval allows."""

import threading

import numpy as np
import pytest

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.matching import Matcher
from headrace.matching.bloom.watch import BloomWatch
from headrace.matching.index.kernels.records import Counts
from headrace.matching.settings import BloomSettings

HERE = ("default", "orders")


def counts(asked, passed, found):
    made = np.zeros((), Counts.dtype)
    made["asked"], made["passed"], made["found"] = asked, passed, found
    return made


GOOD = counts(asked=2_000, passed=1_010, found=1_000)
BAD = counts(asked=2_000, passed=1_100, found=1_000)


class Clock:
    now = 5.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def watch(clock):
    return BloomWatch(BloomSettings(rebuild_interval=60.0, rebuild_fp_threshold=0.02), clock, enough=2_000)


def test_the_rate_is_of_the_look_ups_that_nobody_wants(watch):
    watch.note(HERE, GOOD)
    watch.note(HERE, BAD)
    state = watch.state(HERE)
    assert (state.asked, state.passed, state.wanted) == (4_000, 2_110, 2_000)
    assert state.fp_rate == pytest.approx(110 / 2_000)
    assert watch.state(None).fp_rate is None


def test_look_ups_of_keys_that_nobody_has_any_more_are_in_vain(watch):
    watch.note(HERE, GOOD, removed=0.5)
    assert watch.state(HERE).fp_rate == pytest.approx(510 / 1_500)


def test_due_when_the_interval_is_over_and_the_rate_is_too_high(watch, clock):
    assert not watch.note(HERE, BAD)
    assert not watch.note(HERE, BAD)
    clock.now += 59.9
    assert not watch.should_rebuild(HERE)
    clock.now += 0.1
    assert watch.note(HERE, BAD)


def test_said_once_per_interval(watch, clock):
    watch.note(HERE, BAD)
    watch.note(HERE, BAD)
    clock.now += 60
    assert watch.should_rebuild(HERE)
    assert not watch.should_rebuild(HERE)
    assert [watch.note(HERE, BAD) for _ in range(3)] == [False] * 3
    clock.now += 60
    assert watch.note(HERE, BAD)


def test_not_due_below_the_threshold(watch, clock):
    clock.now += 60
    assert not any(watch.note(HERE, GOOD) for _ in range(100))


def test_a_look_counts_only_what_came_since_the_one_before(watch, clock):
    """What was bad long ago is no reason when it has become good, and the other way round."""
    for _ in range(1_000):
        watch.note(HERE, GOOD)
    clock.now += 60
    assert not watch.should_rebuild(HERE)
    watch.note(HERE, BAD)
    watch.note(HERE, BAD)
    clock.now += 60
    assert watch.should_rebuild(HERE)


def test_too_few_look_ups_say_nothing(watch, clock):
    watch.note(HERE, BAD)
    clock.now += 600
    assert not watch.should_rebuild(HERE)
    assert watch.note(HERE, BAD)


def test_each_collection_has_its_own_counts(watch, clock):
    watch.note(None, GOOD)
    watch.note(None, GOOD)
    watch.note(HERE, BAD)
    watch.note(HERE, BAD)
    clock.now += 60
    assert not watch.should_rebuild(None)
    assert watch.should_rebuild(HERE)
    assert not watch.should_rebuild(("default", "unknown"))
    assert set(watch.states()) == {None, HERE}


def test_a_new_version_counts_from_zero(watch, clock):
    watch.note(HERE, BAD)
    watch.note(HERE, BAD)
    assert watch.state(HERE).version == 1
    assert watch.state(HERE).built == 5
    clock.now += 60
    watch.rebuilt(HERE)
    state = watch.state(HERE)
    assert (state.version, state.built, state.asked, state.fp_rate) == (2, 65, 0, None)
    assert not watch.should_rebuild(HERE)


def test_a_filter_that_is_off_is_never_rebuilt(clock):
    watch = BloomWatch(BloomSettings(fp_rate=1.0, rebuild_interval=60.0), clock, enough=1)
    clock.now += 60
    assert not watch.note(HERE, counts(asked=2_000, passed=2_000, found=0))
    assert watch.state(HERE).fp_rate == 1


def test_no_count_is_lost_between_threads(watch):
    threads = [
        threading.Thread(target=lambda: [watch.note(HERE, GOOD) for _ in range(500)]) for _ in range(4)
    ]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert watch.state(HERE).asked == 4 * 500 * 2_000


def test_what_walks_count_is_the_rate_that_was_asked_for():
    """Of 20,000 values that nobody asks for, about as many pass as the settings say."""
    settings = BloomSettings(fp_rate=0.05, initial_capacity=1)
    matcher = Matcher(settings)
    matcher.add_many((str(n), compile_filter({"exact": {"subject": f"order-{n}"}})) for n in range(3_000))
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    events = [Event(attributes | {"subject": f"order-{n}"}) for n in range(2_000, 23_000)]
    matcher.match_batch(events)
    state = matcher.bloom_states()[None]
    assert state.asked == 21_000
    assert state.wanted == 1_000
    assert state.fp_rate == pytest.approx(0.045, abs=0.015)


def test_a_filter_that_errs_too_often_is_built_anew():
    """Most subscriptions go: what they asked for still passes, until the filter is built for those who are left."""
    settings = BloomSettings(initial_capacity=1, rebuild_interval=1e-9)
    matcher = Matcher(settings)
    matcher.add_many((str(n), compile_filter({"exact": {"subject": f"order-{n}"}})) for n in range(3_000))
    attributes = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    events = [Event(attributes | {"subject": f"order-{n % 3_000}"}) for n in range(30_000)]
    matcher.match_batch(events)
    assert matcher.bloom_states()[None].version == 1
    for n in range(10, 3_000):
        matcher.remove(str(n))
    before = matcher._index.view.layers[0].level
    found = matcher.match_batch(events)
    matcher.settle_down()
    assert matcher.bloom_states()[None].version == 2
    assert len(matcher._index.view.layers[0].level.tables.keys) == 10 < len(before.tables.keys)
    assert matcher.match_batch(events) == found
    assert (matcher.bloom_states()[None].fp_rate or 0) < 0.02
