from headrace.delivery.subscribers import Subscribers
from headrace.events.positions import Cut
from headrace.ledger.ledger import Key


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
    office.store.delete(first, lambda: Cut.at(office.log.end))
    assert set(subscribers.refresh()) == {first}
    assert subscribers.refresh() == {}
    assert subscribers.get(first) is None
    assert subscribers.get(second) is not None


def test_a_subscription_that_ended_before_the_first_look(office):
    gone = office.subscribe("http://127.0.0.1:1/a")
    office.store.delete(gone, lambda: Cut.at(office.log.end))
    subscribers = Subscribers(office.store)
    assert set(subscribers.refresh()) == {gone}
    assert subscribers.get(gone) is None


def test_live_events_before_the_cut_are_wanted_no_more(office):
    moved = office.subscribe("http://127.0.0.1:1/a")
    subscribers = Subscribers(office.store)
    subscribers.refresh()
    assert subscribers.wants(Key(moved, 4))
    office.store.go_live(moved, Cut.at(5), lambda _: None)
    assert set(subscribers.refresh()) == {moved}
    assert not subscribers.wants(Key(moved, 4))
    assert subscribers.wants(Key(moved, 5))
    assert subscribers.wants(Key(moved, 4, "replay"))
    assert not subscribers.wants(Key("nobody", 5))
