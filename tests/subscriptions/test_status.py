"""How subscriptions fare: what is reported, kept, and shown."""

import re
from dataclasses import replace

import pytest
from tests.opening import opening
from tests.subscriptions.stores import proposal

from headrace.events.positions import LogPosition
from headrace.subscriptions.status import FilterStatus, timestamp
from headrace.subscriptions.store.store import Store


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        yield opened


def status(overruns=1, position=7, reason="why", time="2026-01-01T00:00:00.000Z"):
    return FilterStatus(overruns, reason, position, time)


def test_overruns_add_up_and_the_last_is_shown(store):
    dear, cheap = (store.create(proposal(), LogPosition).id for _ in range(2))
    assert store.overruns() == {}
    store.report_overruns({dear: status(2)})
    later = status(3, 19, "another", "2026-01-02T00:00:00.000Z")
    store.report_overruns({dear: later})
    expected = {dear: status(5, 19, "another", "2026-01-02T00:00:00.000Z")}
    assert store.overruns() == store.overruns([dear]) == expected
    assert store.overruns([cheap]) == {}


def test_each_subscription_has_its_own(store):
    ids = [store.create(proposal(), LogPosition).id for _ in range(3)]
    store.report_overruns({ids[0]: status(1), ids[1]: status(2)})
    store.report_overruns({ids[1]: status(2), ids[2]: status(3)})
    assert {each: found.overruns for each, found in store.overruns().items()} == dict(
        zip(ids, (1, 4, 3), strict=True)
    )


def test_a_report_is_no_change_for_workers(store):
    dear = store.create(proposal(), LogPosition)
    before = store.revision(), store.changes(0)
    for _ in range(2):
        store.report_overruns({dear.id: status()})
    assert (store.revision(), store.changes(0)) == before
    assert store.get(dear.id) == dear


def test_subscriptions_that_are_not_there_are_left_out(store):
    dear = store.create(proposal(), LogPosition).id
    store.report_overruns({"0 nobody": status(), dear: status(), "z nobody": status()})
    assert store.overruns() == {dear: status()}


def test_a_report_goes_with_its_subscription(store):
    kept, ended = (store.create(proposal(), LogPosition).id for _ in range(2))
    store.report_overruns({kept: status(), ended: status()})
    store.delete(ended, lambda: LogPosition.at(8))
    assert store.purge(LogPosition.at(9)) == [ended]
    assert store.overruns() == {kept: status()}
    store.report_overruns({ended: status()})
    assert store.overruns() == {kept: status()}


def test_a_reason_has_room_for_so_much(store):
    dear = store.create(proposal(), LogPosition).id
    for _ in range(2):  # as a new row, and as one that is there
        store.report_overruns({dear: status(reason="ü" * 501)})
        assert store.overruns()[dear].reason == "ü" * 500


def test_the_event_is_told_and_goes_with_the_next(store):
    dear = store.create(proposal(), LogPosition).id
    event = {"id": "1", "source": "/s", "type": "t"}
    for known in (event, {}, event):  # as a new row, and as one that is there
        store.report_overruns({dear: replace(status(), event=known)})
        assert store.overruns()[dear].event == known
    assert store.overruns()[dear].document()["event"] == event


def test_a_report_goes_with_the_filter_it_tells_of(store):
    dear = store.create(proposal(filters=[{"exact": {"type": "a"}}]), LogPosition)
    store.report_overruns({dear.id: status()})
    store.replace(replace(proposal(filters=[{"exact": {"type": "a"}}], sink="http://other/"), id=dear.id))
    assert store.overruns() == {dear.id: status()}
    store.replace(replace(proposal(filters=[{"exact": {"type": "b"}}]), id=dear.id))
    assert store.overruns() == {}


def test_timestamps_are_utc_and_of_one_length():
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", timestamp())
