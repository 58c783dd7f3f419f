"""Following the store: what is told is always at least what the subscriptions of this moment want."""

import time

import pytest

from headrace.database.database import Database
from headrace.events.event import Event
from headrace.events.positions import LogPosition
from headrace.filters import compile_filter
from headrace.interest import Interests, InterestSettings
from headrace.interest import channel_interest as module
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription

HERE, THERE = ChannelName("default", "default"), ChannelName("a", "b")
BASE = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@pytest.fixture
def store(tmp_path):
    opened = Store(Database(f"sqlite:///{tmp_path}/store.db"))
    opened.create_channel(THERE)
    yield opened
    opened.database.close()


@pytest.fixture
def interests(store):
    made = Interests(store, InterestSettings())
    yield made
    made.close()


def proposal(subject, channel=HERE, **more):
    wish = {"filters": [{"exact": {"subject": subject}}]} if subject is not None else {}
    document = {"sink": "http://127.0.0.1:1/", "config": {"channel": str(channel)}, **wish, **more}
    return parse_subscription(document)


def subscribe(store, subject, channel=HERE, **more):
    return store.create(proposal(subject, channel, **more), lambda: LogPosition.at(0))


def wanted(interest, *subjects):
    events = [Event(BASE | {"subject": subject}) for subject in subjects]
    union, bloom = compile_filter({"cel": interest.text.cel}), interest.make_bloom()
    by_text = {each.subject for each in events if union.matches(each)}
    assert by_text <= {each.subject for each in events if bloom.may_match(each)}
    return by_text


def test_it_follows_who_comes_changes_and_goes(store, interests):
    assert interests.of(HERE).text.cel == "false"
    first = subscribe(store, "x")
    subscribe(store, "y")
    subscribe(store, "z", THERE)
    told = interests.of(HERE)
    assert wanted(told, "x", "y", "z") == {"x", "y"}
    assert (told.subscriptions, told.text.exact, told.variables) == (2, True, ["ce"])
    assert told.revision == store.revision()
    replaced = proposal("w")
    store.replace(type(first)(**{**_members(replaced), "id": first.id}))
    assert wanted(interests.of(HERE), "x", "y", "w") == {"y", "w"}
    store.delete(first.id, lambda: LogPosition.at(0))
    assert wanted(interests.of(HERE), "x", "y", "w") == {"y"}
    assert wanted(interests.of(THERE), "x", "y", "z") == {"z"}


def _members(subscription):
    return {name: getattr(subscription, name) for name in subscription.__slots__}


def test_who_is_paused_or_ended_by_its_sink_still_wants_its_events(store, interests):
    one, other = subscribe(store, "x"), subscribe(store, "y")
    store.pause(one.id)
    store.end(other.id, "gone")
    assert wanted(interests.of(HERE), "x", "y", "z") == {"x", "y"}


def test_who_is_not_settled_yet_is_in_it(store, interests):
    def end_of_log():
        assert wanted(interests.of(HERE), "x") == {"x"}
        return LogPosition.at(0)

    store.create(proposal("x"), end_of_log)


def test_who_was_purged_unheard_is_forgotten(store, interests):
    gone = subscribe(store, "x")
    subscribe(store, "y")
    interests.of(HERE)
    store.delete(gone.id, lambda: LogPosition.at(0))
    assert store.purge(LogPosition.at(5)) == [gone.id]
    told = interests.of(HERE)
    assert wanted(told, "x", "y") == {"y"}
    assert told.subscriptions == 1


def test_the_tag_stays_when_what_is_wanted_does(store, interests):
    one = subscribe(store, "x")
    told = interests.of(HERE)
    subscribe(store, "x")
    store.pause(one.id)
    subscribe(store, "y", THERE)
    again = interests.of(HERE)
    assert again.etag == told.etag
    assert again.bloom() == told.bloom()
    assert again.revision > told.revision
    subscribe(store, "y")
    assert interests.of(HERE).etag != told.etag
    assert interests.of(HERE).bloom()[1] != told.bloom()[1]


def until_exact(interests, channel=HERE):
    deadline = time.monotonic() + 120
    while not (told := interests.of(channel)).text.exact:
        assert time.monotonic() < deadline
        time.sleep(0.05)
    return told


@pytest.fixture
def small(monkeypatch):
    """As if a few criteria were many."""
    monkeypatch.setattr(module, "FEW", 4)
    monkeypatch.setattr(module, "MANY", 8)
    monkeypatch.setattr(module, "_REST", 0)


def test_many_have_a_base_and_whoever_comes_and_goes_stands_beside_it(small, store, interests):
    many = [subscribe(store, f"s{n}") for n in range(6)]
    told = interests.of(HERE)
    assert (told.text.cel, told.text.exact) == ("true", False)
    assert wanted(told, "anything") == {"anything"}
    told = until_exact(interests)
    assert wanted(told, "s0", "s5", "x") == {"s0", "s5"}
    assert told.make_bloom().header.keys == 6
    assert not told.make_bloom().may_match(Event(BASE | {"subject": "x"}))
    subscribe(store, "x")
    told = interests.of(HERE)
    assert told.text.exact
    assert wanted(told, "s0", "s5", "x", "y") == {"s0", "s5", "x"}
    assert told.make_bloom().header.keys == 7
    assert not told.make_bloom().may_match(Event(BASE | {"subject": "y"}))
    store.delete(many[0].id, lambda: LogPosition.at(0))
    told = interests.of(HERE)
    assert not told.text.exact
    assert wanted(told, "s0", "s5", "x", "y") == {"s0", "s5", "x"}
    assert wanted(until_exact(interests), "s0", "s5", "x", "y") == {"s5", "x"}


def test_who_comes_in_crowds_is_let_through_until_there_is_a_base_again(small, store, interests):
    for number in range(6):
        subscribe(store, f"s{number}")
    until_exact(interests)
    for number in range(10):
        subscribe(store, f"t{number}")
    assert interests.of(HERE).text.cel == "true"
    assert interests.of(HERE).make_bloom().header.bypass
    assert wanted(until_exact(interests), "s0", "t9", "u") == {"s0", "t9"}


def test_everything_is_let_through_when_no_base_can_be_made(small, store, interests, monkeypatch, caplog):
    class Broken:
        def __init__(self, task):
            raise OSError("no process can be started")

    monkeypatch.setattr(module, "BuildProcess", Broken)
    for number in range(6):
        subscribe(store, f"s{number}")
    for _ in range(3):
        assert interests.of(HERE).text.cel == "true"
        time.sleep(0.05)
    assert caplog.text.count("includes every event for now: no process can be started") == 1


def test_closing_ends_what_is_being_made(small, store):
    interests = Interests(store, InterestSettings())
    for number in range(6):
        subscribe(store, f"s{number}")
    interests.of(HERE)
    held = interests._channels[HERE]
    deadline = time.monotonic() + 60
    while held._process is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    interests.close()
    assert held._making is None
    assert held._process._process.poll() is not None


def test_a_subscription_to_everything_is_told_as_such(store, interests):
    subscribe(store, "x")
    subscribe(store, None)
    told = interests.of(HERE)
    assert (told.text.cel, told.text.exact, told.variables) == ("true", True, [])
