import threading
import time

import numpy as np
import pytest
from prometheus_client import REGISTRY
from tests.matching.test_matcher import batch, event

from headrace.events.event import Event
from headrace.events.recorded import Arrival
from headrace.filters import compile_filter
from headrace.matching import Matcher
from headrace.matching.index.kernels.records import Counts
from headrace.matching.reports.statistics import Accounts, Statistics
from headrace.matching.settings import CelSettings
from headrace_bench.match.statistics import candidates_per_event


def counts(**places):
    array = np.zeros((), Counts.dtype)
    for name, number in places.items():
        array[name] = number
    return array


def sample(name):
    return REGISTRY.get_sample_value(f"headrace_match_{name}") or 0


def data(text):
    return Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, text)


def matcher_of(*texts, **settings):
    matcher = Matcher(**settings)
    matcher.add_many((str(number), compile_filter({"cel": text})) for number, text in enumerate(texts))
    matcher.settle_down()
    return matcher


def test_adds_up():
    accounts = Accounts()
    accounts.walked(counts(asked=10, passed=4, found=3, visited=7, candidates=2), 0.5)
    accounts.walked(counts(asked=1, visited=1), 0.25)
    accounts.evaluated(2, 1, 1, 0.125)
    accounts.matched(5, 6, 1.0)
    found = accounts.statistics()
    assert found == Statistics(
        batches=1, events=5, matches=6, lookups=11, passed=4, found=3, visited=8, candidates=2,
        evaluations=2, errors=1, slow=1, walk_seconds=0.75, residual_seconds=0.125, seconds=1.0,
    )  # fmt: skip
    assert found.false_positive_rate == 1 / 8
    assert type(found.lookups) is int


def test_no_rate_before_a_look_up_in_vain():
    assert Statistics().false_positive_rate is None
    assert Statistics(lookups=3, passed=3, found=3).false_positive_rate is None
    assert Statistics(lookups=3).false_positive_rate == 0


def test_nothing_is_lost_between_threads():
    accounts = Accounts()

    def add():
        for _ in range(500):
            accounts.walked(counts(asked=1), 0.0)
            accounts.matched(1, 2, 0.0)
            accounts.publish()

    before = sample("lookups_total"), sample("matches_total")
    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (accounts.statistics().lookups, accounts.statistics().matches) == (2000, 4000)
    assert (sample("lookups_total") - before[0], sample("matches_total") - before[1]) == (2000, 4000)


NAMES = [
    "events_total", "matches_total", "lookups_total", "lookups_passed_total", "lookups_found_total", "visited_total",
    "candidates_total", "evaluations_total", "evaluation_errors_total", "evaluations_slow_total",
    "seconds_sum", "seconds_count", "walk_seconds_sum", "residual_seconds_sum", "residual_seconds_count",
    "per_event_sum", "per_event_count",
]  # fmt: skip


def test_publishes_what_was_added_since():
    accounts = Accounts()

    def moved(publish):
        before = [sample(name) for name in NAMES]
        publish()
        return [sample(name) - was for name, was in zip(NAMES, before, strict=True)]

    assert not any(moved(accounts.publish))
    for _ in range(2):
        accounts.walked(counts(asked=10, passed=4, found=3, visited=7, candidates=2), 0.5)
        accounts.evaluated(2, 1, 1, 0.25)
        accounts.matched(4, 6, 1.0)
        assert moved(accounts.publish) == [4, 6, 10, 4, 3, 7, 2, 2, 1, 1, 1.0, 1, 0.5, 0.25, 1, 1.5, 1]
        assert not any(moved(accounts.publish)), "nothing is counted twice"
    accounts.matched(0, 0, 1.0)
    assert moved(accounts.publish)[-3:] == [0, 0, 0], "no evaluation, no event: nothing to observe"


def test_publishing_is_cheap():
    accounts, spent = Accounts(), []
    for _ in range(300):
        accounts.walked(counts(asked=10, passed=4, found=3, visited=7, candidates=2), 0.5)
        accounts.evaluated(2, 1, 1, 0.25)
        accounts.matched(4, 6, 1.0)
        began = time.perf_counter()
        accounts.publish()
        spent.append(time.perf_counter() - began)
    assert min(spent) < 100e-6  # about 25 µs on an idle core


def test_a_matcher_counts_its_work():
    matcher = matcher_of(
        'ce.type == "t" && ce.id == "1"', 'ce.type == "u"', "data.a.size() > 2", 'ce.id != "1"'
    )
    assert matcher.statistics() == Statistics()
    events = [data(b'{"a": "xyz"}'), data(b'{"a": "x"}'), data(b'{"b": 1}'), data(b'{"a": 5}'), event(id="2")]
    found = matcher.match_batch(events)
    counted = matcher.statistics()
    assert found == [["0", "2"], ["0"], ["0"], ["0"], ["3"]]
    assert (counted.batches, counted.events, counted.matches) == (1, 5, 6)
    assert counted.lookups >= counted.passed >= counted.found > 0
    assert counted.visited >= counted.candidates >= counted.evaluations > 0
    assert counted.errors > 0
    assert counted.slow == 0
    assert 0 < counted.walk_seconds + counted.residual_seconds < counted.seconds


@pytest.mark.parametrize("form", ["bare", "batch"])
def test_values_that_nobody_asks_for_are_look_ups_in_vain(form):
    matcher = matcher_of(*(f'ce.id == "{number}"' for number in range(100)))
    events = [event(id=f"x{number}") for number in range(2000)]
    matcher.match_batch(events if form == "bare" else batch([Arrival(each, "n", "c") for each in events]))
    counted = matcher.statistics()
    assert (counted.lookups, counted.found, counted.matches, counted.visited) == (2000, 0, 0, 0)
    assert counted.false_positive_rate is not None
    assert counted.false_positive_rate < 0.1


def test_an_evaluation_above_the_timeout_is_slow_and_counts_all_the_same():
    matcher = matcher_of("data.a.size() > 2", cel=CelSettings(evaluation_timeout=1e-9))
    assert matcher.match(data(b'{"a": "xyz"}')) == ["0"]
    assert matcher.statistics().slow == matcher.statistics().evaluations == 1


def test_an_answer_that_is_unknown_is_an_error():
    matcher = matcher_of("data.a.size() > 2")
    matcher.match_batch([data(b'{"a": 5}'), data(b'{"a": "x"}')])
    counted = matcher.statistics()
    assert (counted.evaluations, counted.errors) == (2, 1)


def test_a_matcher_publishes():
    matcher = matcher_of('ce.type == "t"')
    before = sample("events_total"), sample("matches_total")
    matcher.match_batch([event(), event(type="u")])
    assert sample("events_total") == before[0], "not before it is asked to"
    matcher.publish()
    assert (sample("events_total") - before[0], sample("matches_total") - before[1]) == (2, 1)


def test_the_bench_shows_how_much_of_the_index_is_visited():
    matcher = matcher_of('ce.type == "t"', 'ce.type == "t" && ce.id == "2"')
    assert candidates_per_event(matcher) is None
    matcher.match_batch([event(), event(type="u")])
    assert candidates_per_event(matcher) == matcher.statistics().visited / 2 > 0
