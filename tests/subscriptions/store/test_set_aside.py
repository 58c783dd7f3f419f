"""What could not be routed is written down once, and a flood of it stays small."""

import pytest

from headrace.database.database import Database
from headrace.subscriptions.store import set_aside
from headrace.subscriptions.store.set_aside import Kind, SetAside, join
from headrace.subscriptions.store.store import Store


@pytest.fixture
def store(database_url):
    made = Store(Database(database_url))
    yield made
    made.database.close()


def _event(position: int, reason: str = "why", until: int | None = None) -> SetAside:
    return SetAside(Kind.EVENT, position, until or position + 1, reason, "default", "orders")


def _spans(records: list[SetAside]) -> list[tuple[str, int, int]]:
    return [(record.reason, record.position, record.until) for record in records]


def test_neighbours_with_one_reason_become_one():
    records = [_event(3), _event(1), _event(2), _event(4, "other"), _event(6, "other")]
    assert _spans(join(records)) == [("why", 1, 4), ("other", 4, 5), ("other", 6, 7)]


def test_the_same_filter_is_never_joined_with_another():
    records = [SetAside(Kind.FILTER, 5, 5, "why", subscription=name) for name in "ab"]
    assert len(join(records)) == 2


def test_the_newest_come_first(store):
    store.set_aside([_event(1)])
    store.set_aside([_event(9)])
    assert _spans(store.what_is_set_aside(10)) == [("why", 9, 10), ("why", 1, 2)]
    assert _spans(store.what_is_set_aside(1)) == [("why", 9, 10)]


def test_a_repeated_batch_says_it_again_and_changes_nothing(store):
    for _ in range(2):
        store.set_aside([_event(1), _event(2), SetAside(Kind.FILTER, 1, 1, "x", subscription="s")])
    assert len(store.what_is_set_aside(10)) == 2
    store.set_aside([_event(1, until=5)])
    assert ("why", 1, 5) in _spans(store.what_is_set_aside(10))
    store.set_aside([_event(1, until=3)])
    assert ("why", 1, 5) in _spans(store.what_is_set_aside(10))


def test_only_the_last_ones_are_kept(store, monkeypatch):
    monkeypatch.setattr(set_aside, "_KEPT", 3)
    for position in range(0, 20, 2):
        store.set_aside([_event(position)])
    assert [each.position for each in store.what_is_set_aside(10)] == [18, 16, 14]


def test_a_new_start_forgets_filters_only(store):
    store.set_aside([_event(1), SetAside(Kind.FILTER, 1, 1, "x", subscription="s")])
    store.forget_filters_set_aside()
    assert [each.kind for each in store.what_is_set_aside(10)] == [Kind.EVENT]


def test_what_it_shows(store):
    store.set_aside([SetAside(Kind.DAMAGE, 3, 7, "the frame's checksum is wrong")])
    [found] = store.what_is_set_aside(10)
    document = found.document()
    assert document.pop("time")
    assert document == {
        "kind": "damage",
        "position": 3,
        "until": 7,
        "reason": "the frame's checksum is wrong",
    }
    assert found.count == 4
