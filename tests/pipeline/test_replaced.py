"""A subscription whose filters change under its id: what workers match by, from rosters, bases and after a restart."""

from dataclasses import replace

import pytest
from tests.pipeline.roster.test_roster import Loaded, _event, _roster

from headrace.events.positions import LogPosition
from headrace.pipeline.roster.reader import RosterReader
from headrace.subscriptions.subscription import parse_subscription


def changed(deployment, subscription, *filters):
    wanted = parse_subscription({"sink": subscription.sink, "filters": list(filters)})
    return deployment.store.replace(replace(wanted, id=subscription.id))


def test_the_next_roster_has_the_new_filters_and_the_old_beginning(deployment):
    deployment.append("before")
    subscription = deployment.subscribe({"exact": {"type": "old"}})
    roster = _roster(deployment)
    first = roster.current(LogPosition())
    assert Loaded(first).match(_event(1, "old")) == [subscription.id]
    changed(deployment, subscription, {"exact": {"type": "new"}})
    second = roster.current(LogPosition())
    assert second != first, "a worker knows a roster by its name"
    loaded = Loaded(second)
    assert loaded.match(_event(1, "new")) == [subscription.id]
    assert loaded.match(_event(1, "old")) == []
    assert loaded.match(_event(0, "new")) == []  # accepted before it was created


def test_a_worker_that_goes_from_roster_to_roster_changes_with_it(deployment):
    subscription = deployment.subscribe({"exact": {"type": "old"}})
    roster, reader = _roster(deployment), RosterReader()
    assert reader.matcher(roster.current(LogPosition())).match(_event(0, "old")) == [subscription.id]
    changed(deployment, subscription, {"exact": {"type": "new"}})
    matcher = reader.matcher(roster.current(LogPosition()))
    assert matcher.match(_event(0, "new")) == [subscription.id]
    assert matcher.match(_event(0, "old")) == []


@pytest.fixture
def few_changes(monkeypatch):
    monkeypatch.setattr("headrace.pipeline.roster.writer._FEW_CHANGES", 3)


@pytest.mark.parametrize("restarts", [False, True])
def test_one_in_a_base_is_replaced_too(deployment, few_changes, restarts):
    made = [deployment.subscribe({"exact": {"type": "old"}}) for _ in range(5)]
    roster = _roster(deployment)
    roster.current(LogPosition())
    changed(deployment, made[2], {"exact": {"type": "new"}})
    matcher = Loaded((_roster(deployment) if restarts else roster).current(LogPosition()))
    assert matcher.match(_event(0, "new")) == [made[2].id]
    assert set(matcher.match(_event(0, "old"))) == {each.id for each in made} - {made[2].id}


def test_source_and_types_constrain_what_is_matched_and_change_with_it(deployment):
    def wish(**scope):
        return parse_subscription({"sink": "http://x/", "filters": [{"prefix": {"type": "t"}}], **scope})

    made = deployment.store.create(wish(source="/s", types=["t1", "t2", "other"]), LogPosition)
    roster = _roster(deployment)
    loaded = Loaded(roster.current(LogPosition()))
    assert [loaded.match(_event(0, type_)) for type_ in ("t1", "t2", "t3", "other")] == [
        [made.id],
        [made.id],
        [],
        [],
    ]
    deployment.store.replace(replace(wish(source="/elsewhere"), id=made.id))
    loaded = Loaded(roster.current(LogPosition()))
    assert loaded.match(_event(0, "t1")) == []
    deployment.store.replace(replace(wish(), id=made.id))
    loaded = Loaded(roster.current(LogPosition()))
    assert [loaded.match(_event(0, type_)) for type_ in ("t1", "t3", "other")] == [[made.id], [made.id], []]
