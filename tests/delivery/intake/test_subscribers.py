from headrace.delivery.intake.subscribers import Subscribers
from headrace.events.positions import LogPosition
from headrace.ledger.ledger import Key
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName


def test_it_follows_the_store(office):
    subscribers = Subscribers(office.store)
    first = office.subscribe("http://127.0.0.1:1/first")
    assert subscribers.get(first) is None, "not before a refresh"
    assert set(subscribers.refresh()) == {first}
    second = office.subscribe("http://127.0.0.1:1/second")
    assert set(subscribers.refresh()) == {second}
    assert subscribers.refresh() == {}
    found = [subscribers.get(each) for each in (first, second)]
    assert [each and each.sink for each in found] == ["http://127.0.0.1:1/first", "http://127.0.0.1:1/second"]


def test_what_ended_is_told_once_and_gone(office):
    subscribers = Subscribers(office.store)
    first, second = office.subscribe("http://127.0.0.1:1/a"), office.subscribe("http://127.0.0.1:1/b")
    subscribers.refresh()
    office.store.delete(first, lambda: LogPosition.at(office.log.end))
    assert set(subscribers.refresh()) == {first}
    assert subscribers.refresh() == {}
    assert subscribers.get(first) is None
    assert subscribers.get(second) is not None


def test_a_subscription_that_ended_before_the_first_look(office):
    gone = office.subscribe("http://127.0.0.1:1/a")
    office.store.delete(gone, lambda: LogPosition.at(office.log.end))
    subscribers = Subscribers(office.store)
    assert set(subscribers.refresh()) == {gone}
    assert subscribers.get(gone) is None


def test_live_events_before_the_cut_are_wanted_no_more(office):
    moved = office.subscribe("http://127.0.0.1:1/a")
    subscribers = Subscribers(office.store)
    subscribers.refresh()
    assert subscribers.wants(Key(moved, 4))
    office.store.go_live(moved, LogPosition.at(5), lambda _: None)
    assert set(subscribers.refresh()) == {moved}
    assert not subscribers.wants(Key(moved, 4))
    assert subscribers.wants(Key(moved, 5))
    assert subscribers.wants(Key(moved, 4, "replay"))
    assert not subscribers.wants(Key("nobody", 5))


def test_what_a_sink_that_ended_left_behind_is_wanted_all_the_same(office):
    one = office.subscribe("http://127.0.0.1:1/a")
    subscribers = Subscribers(office.store)
    subscribers.refresh()
    assert subscribers.end(one, "status 410")
    assert not subscribers.end(one, "status 410"), "it is told once"
    assert not subscribers.wants(Key(one, 4))
    assert subscribers.wants(Key(one, 4, "", "dead-letter"))
    assert subscribers.wants(Key(one, 4, "", "reply"))
    subscribers.revive(one)
    assert subscribers.wants(Key(one, 4))


def test_a_channel_s_delivery_object_is_followed(office):
    moved = office.subscribe("http://127.0.0.1:1/a")
    subscription = office.store.get(moved)
    subscribers = Subscribers(office.store)
    subscribers.refresh()
    assert subscribers.of_channel(subscription) is None
    office.store.change_channel(DEFAULT_CHANNEL, {"retry": 1})
    assert subscribers.refresh().keys() == {moved}
    assert subscribers.of_channel(subscription) == {"retry": 1}
    office.store.create_channel(ChannelName("other", "one"), {"retry": 2})
    assert subscribers.refresh() == {}
    office.store.change_channel(DEFAULT_CHANNEL, None)
    assert subscribers.refresh().keys() == {moved}
    assert subscribers.of_channel(subscription) is None
