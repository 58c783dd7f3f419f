import itertools

import pytest

from headrace import compile_filter
from headrace.demo.run import _groups
from headrace.demo.scenario import SUBSCRIPTIONS, sample_events
from headrace.events.attributes import faults

EVENTS = list(sample_events(2000))


def test_the_events_are_valid_and_all_different():
    assert [fault for event in EVENTS for fault in faults(event.attributes)] == []
    assert len({event.id for event in EVENTS}) == len(EVENTS)


def test_the_events_are_the_same_every_time():
    assert list(sample_events(50)) == EVENTS[:50]
    assert list(sample_events(50, seed=8)) != EVENTS[:50]


@pytest.mark.parametrize("subscription", SUBSCRIPTIONS, ids=lambda subscription: subscription.name)
def test_a_wish_means_the_same_as_a_filter_and_as_python(subscription):
    """Else the demo would judge by another rule than it asks for."""
    filter_ = compile_filter(list(subscription.filters))
    matched = [event.id for event in EVENTS if filter_.matches(event)]
    assert matched == [event.id for event in EVENTS if subscription.wanted(event.attributes)]
    assert matched, "a subscription that nothing fulfils shows nothing"


def test_wishes_have_names_that_fit_into_a_path():
    names = [subscription.name for subscription in SUBSCRIPTIONS]
    assert len(set(names)) == len(names)
    assert all(name.replace("-", "").isalnum() for name in names)


@pytest.mark.parametrize("count", [0, 1, 9, 10, 11, 137])
def test_requests_hold_every_event_once_and_in_order(count):
    assert list(itertools.chain.from_iterable(_groups(count))) == EVENTS[:count]


def test_events_are_sent_alone_and_in_batches():
    assert {1, 10} <= {len(group) for group in _groups(200)}
