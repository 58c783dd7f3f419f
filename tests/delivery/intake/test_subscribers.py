from headrace.delivery.intake.subscribers import Subscribers
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Key
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName


def test_it_follows_the_store(harness):
    subscribers = Subscribers(harness.store)
    first = harness.subscribe("http://127.0.0.1:1/first")
    assert subscribers.get(first) is None, "not before a refresh"
    assert set(subscribers.refresh()) == {first}
    second = harness.subscribe("http://127.0.0.1:1/second")
    assert set(subscribers.refresh()) == {second}
    assert subscribers.refresh() == {}
    found = [subscribers.get(each) for each in (first, second)]
    assert [each and each.sink for each in found] == ["http://127.0.0.1:1/first", "http://127.0.0.1:1/second"]


def test_what_ended_is_told_once_and_gone(harness):
    subscribers = Subscribers(harness.store)
    first, second = harness.subscribe("http://127.0.0.1:1/a"), harness.subscribe("http://127.0.0.1:1/b")
    subscribers.refresh()
    harness.store.delete(first, lambda: LogPosition.at(harness.log.end))
    assert set(subscribers.refresh()) == {first}
    assert subscribers.refresh() == {}
    assert subscribers.get(first) is None
    assert subscribers.get(second) is not None


def test_a_subscription_that_ended_before_the_first_look(harness):
    gone = harness.subscribe("http://127.0.0.1:1/a")
    harness.store.delete(gone, lambda: LogPosition.at(harness.log.end))
    subscribers = Subscribers(harness.store)
    assert set(subscribers.refresh()) == {gone}
    assert subscribers.get(gone) is None


def test_live_events_before_the_cut_are_wanted_no_more(harness):
    moved = harness.subscribe("http://127.0.0.1:1/a")
    subscribers = Subscribers(harness.store)
    subscribers.refresh()
    assert subscribers.wants(Key(moved, 4))
    harness.store.go_live(moved, LogPosition.at(5), lambda _: None)
    assert set(subscribers.refresh()) == {moved}
    assert not subscribers.wants(Key(moved, 4))
    assert subscribers.wants(Key(moved, 5))
    assert subscribers.wants(Key(moved, 4, "replay"))
    assert not subscribers.wants(Key("nobody", 5))


def test_what_a_sink_that_ended_left_behind_is_wanted_all_the_same(harness):
    one = harness.subscribe("http://127.0.0.1:1/a")
    subscribers = Subscribers(harness.store)
    subscribers.refresh()
    assert subscribers.end(one, "status 410")
    assert not subscribers.end(one, "status 410"), "it is told once"
    assert not subscribers.wants(Key(one, 4))
    assert subscribers.wants(Key(one, 4, "", "dead-letter"))
    assert subscribers.wants(Key(one, 4, "", "reply"))
    subscribers.revive(one)
    assert subscribers.wants(Key(one, 4))


def test_a_channel_s_delivery_object_is_followed(harness):
    moved = harness.subscribe("http://127.0.0.1:1/a")
    subscription = harness.store.get(moved)
    subscribers = Subscribers(harness.store)
    subscribers.refresh()
    assert subscribers.of_channel(subscription) is None
    harness.store.change_channel(DEFAULT_CHANNEL, {"retry": 1})
    assert subscribers.refresh().keys() == {moved}
    assert subscribers.of_channel(subscription) == {"retry": 1}
    harness.store.create_channel(ChannelName("other", "one"), {"retry": 2})
    assert subscribers.refresh() == {}
    harness.store.change_channel(DEFAULT_CHANNEL, None)
    assert subscribers.refresh().keys() == {moved}
    assert subscribers.of_channel(subscription) is None
