import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import count

import pytest
from sqlalchemy import insert
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.errors import Conflict, NotFound
from headrace.events.positions import LogPosition, position_at
from headrace.filters import compiled
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName
from headrace.subscriptions.quotas.quotas import Quotas
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import SUBSCRIPTIONS

ORDERS = ChannelName("team-a", "orders")


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        yield opened


def at(position):
    return lambda: LogPosition.at(position)


def settled_ids(store, since=0):
    return [each.id for each in store.changes(since)[1]]


# Channels


def test_the_default_channel_exists(store):
    assert store.channels() == [DEFAULT_CHANNEL]


def test_channels_are_listed_by_name(store):
    for namespace, name in (("b", "b"), ("a", "z"), ("b", "a"), ("a-", "a")):
        store.create_channel(ChannelName(namespace, name))
    names = [str(channel) for channel in store.channels()]
    assert names == ["a/z", "a-/a", "b/a", "b/b", "default/default"]


def test_a_channel_exists_once(store):
    store.create_channel(ORDERS)
    revision = store.revision()
    with pytest.raises(Conflict, match="team-a/orders exists already"):
        store.create_channel(ORDERS)
    assert store.revision() == revision
    store.create_channel(ChannelName("team-b", "orders"))


def test_deleting_a_channel(store):
    store.create_channel(ORDERS)
    store.delete_channel(ORDERS)
    assert ORDERS not in store.channels()
    with pytest.raises(NotFound, match="team-a/orders"):
        store.delete_channel(ORDERS)
    store.create_channel(ORDERS)


def test_a_channel_with_subscriptions_stays(store):
    store.create_channel(ORDERS)
    store.create_channel(ChannelName("team-b", "orders"))
    subscription = store.create(proposal("team-a/orders"), at(5))
    with pytest.raises(Conflict, match="delete them first"):
        store.delete_channel(ORDERS)
    assert ORDERS in store.channels()
    store.delete_channel(ChannelName("team-b", "orders"))
    store.delete(subscription.id, at(6))
    store.delete_channel(ORDERS)
    assert store.channels() == [DEFAULT_CHANNEL]


# Subscriptions


def test_creating_and_getting(store):
    proposed = proposal(
        source="/s",
        types=["a", "b"],
        filters=[{"exact": {"subject": "ü"}}],
        protocolsettings={"headers": {"x": "y"}},
    )
    created = store.create(proposed, at(7))
    assert created == replace(proposed, created=LogPosition.at(7))
    assert store.get(created.id) == created
    assert listed(store) == [created]


def test_filters_are_compiled_on_their_way_in_and_not_again(database_url, monkeypatch):
    written, other = [{"cel": "data.amount > 5"}], [{"cel": "data.amount > 6"}]
    with opening(Store, database_url, Quotas(filter_cost=1000)) as store:
        first, second = proposal(filters=written), proposal(filters=other)
        monkeypatch.setattr(compiled, "compile_filter", None)
        made = store.create(first, at(7))
        for found in (made, store.get(made.id), store.changes(0)[1][0]):
            assert found.compiled_filter().cel == "data.amount > 5"
        changed = store.replace(replace(second, id=made.id))
        for found in (changed, store.get(made.id)):
            assert found.compiled_filter().cel == "data.amount > 6"


@pytest.mark.parametrize("kept", [None, b"of another version"])
def test_filters_without_a_usable_compiled_form_are_compiled(store, kept):
    made = store.create(replace(proposal(filters=[{"cel": "data.amount > 5"}]), compiled=kept), at(7))
    assert store.get(made.id).compiled_filter().cel == "data.amount > 5"


def test_an_unknown_channel(store):
    revision = store.revision()
    with pytest.raises(NotFound) as caught:
        store.create(proposal("team-a/orders"), at(7))
    assert (caught.value.kind, caught.value.name) == ("channel", "team-a/orders")
    assert listed(store) == []
    assert store.changes(0) == (0, [])
    assert store.revision() == revision


def test_an_unknown_subscription(store):
    for call in (store.get, lambda id_: store.delete(id_, at(1))):
        with pytest.raises(NotFound) as caught:
            call("nobody")
        assert (caught.value.kind, caught.value.name) == ("subscription", "nobody")


def test_they_are_listed_in_the_order_of_creation(store):
    created = [store.create(proposal(), at(position)) for position in (3, 3, 3, 5, 5, 9)]
    assert listed(store) == created


def test_deleting(store):
    first, second = (store.create(proposal(), at(3)) for _ in range(2))
    assert store.delete(first.id, at(8)) == first
    assert listed(store) == [second]
    for call in (store.get, lambda id_: store.delete(id_, at(9))):
        with pytest.raises(NotFound):
            call(first.id)
    (seen,) = [each for each in store.changes(0)[1] if each.id == first.id]
    assert (seen.created, seen.deleted, seen.deleting) == (LogPosition.at(3), LogPosition.at(8), True)


def test_of_many_who_delete_at_once_one_does(store):
    subscription = store.create(proposal(), at(3))

    def try_to_delete(position):
        try:
            store.delete(subscription.id, at(position))
        except NotFound:
            return None
        return LogPosition.at(position)

    with ThreadPoolExecutor(4) as threads:
        ends = [end for end in threads.map(try_to_delete, range(5, 9)) if end is not None]
    assert [each.deleted for each in store.changes(0)[1]] == ends


def test_deleting_may_be_refused(store):
    subscription = store.create(proposal(), at(3))
    revision = store.revision()

    def refuse(seen):
        assert seen == subscription
        raise Conflict("not this one")

    with pytest.raises(Conflict):
        store.delete(subscription.id, at(5), refuse)
    assert (store.get(subscription.id), store.revision()) == (subscription, revision)


def test_what_is_kept_survives_the_process(database_url):
    with opening(Store, database_url) as store:
        store.create_channel(ORDERS)
        created = store.create(proposal("team-a/orders"), at(4))
        revision = store.revision()
    with opening(Store, database_url) as again:
        assert again.channels() == [DEFAULT_CHANNEL, ORDERS]
        assert listed(again) == [created]
        assert again.revision() == revision
        assert again.changes(0)[1] == [created]


# Revisions and changes


def test_the_revision_grows_with_every_change(store):
    revisions = [store.revision()]

    def changed():
        revisions.append(store.revision())
        assert revisions[-1] > revisions[-2]

    store.create_channel(ORDERS)
    changed()
    subscription = store.create(proposal("team-a/orders"), lambda: changed() or LogPosition.at(3))
    changed()
    store.delete(subscription.id, lambda: changed() or LogPosition.at(4))
    changed()
    store.delete_channel(ORDERS)
    changed()
    store.channels(), listed(store), store.changes(0), store.settle(at(9)), store.purge(LogPosition())
    assert store.revision() == revisions[-1]


def test_changes_show_each_step_of_a_subscription(store):
    proposed = proposal()
    reached = 0
    seen: list[tuple[str, LogPosition | None, LogPosition | None, bool]] = []

    def look(position):
        nonlocal reached
        reached, changed = store.changes(reached)
        seen.extend((each.id, each.created, each.deleted, each.deleting) for each in changed)
        return LogPosition.at(position)

    store.create(proposed, lambda: look(3))
    look(0)
    store.delete(proposed.id, lambda: look(8))
    look(0)
    look(0)
    assert seen == [
        (proposed.id, None, None, False),
        (proposed.id, LogPosition.at(3), None, False),
        (proposed.id, LogPosition.at(3), None, True),
        (proposed.id, LogPosition.at(3), LogPosition.at(8), True),
    ]


def test_changes_come_once_and_in_their_order(store):
    first, second = (store.create(proposal(), at(1)) for _ in range(2))
    reached, changed = store.changes(0)
    assert [each.id for each in changed] == [first.id, second.id]
    assert store.changes(reached) == (reached, [])
    store.delete(first.id, at(2))
    assert settled_ids(store, reached) == [first.id]
    assert settled_ids(store) == [second.id, first.id]
    assert store.changes(10**9) == (10**9, [])


# Positions


def test_who_settles_first_wins(store):
    seen = []

    def overtaken(position, by):
        store.settle(at(by))
        seen.append(store.changes(0)[1][-1])
        return LogPosition.at(position)

    created = store.create(proposal(), lambda: overtaken(7, by=4))
    assert created.created == LogPosition.at(4)
    store.delete(created.id, lambda: overtaken(12, by=9))
    assert store.changes(0)[1][-1].deleted == LogPosition.at(9)
    assert [(each.created, each.deleted) for each in seen] == [
        (LogPosition.at(4), None),
        (LogPosition.at(4), LogPosition.at(9)),
    ]


def test_settling_what_nobody_finished(store):
    """Whoever created or deleted them died in between."""

    def die():
        raise KeyboardInterrupt

    kept = store.create(proposal(), at(1))
    ended = store.create(proposal(), at(2))
    begun = proposal()
    with pytest.raises(KeyboardInterrupt):
        store.create(begun, die)
    with pytest.raises(KeyboardInterrupt):
        store.delete(ended.id, die)
    ends = iter((LogPosition.at(5), LogPosition.at(6)))
    store.settle(lambda: next(ends))
    assert store.get(kept.id) == kept
    assert store.get(begun.id).created in (LogPosition.at(5), LogPosition.at(6))
    (gone,) = [each for each in store.changes(0)[1] if each.id == ended.id]
    assert (gone.created, gone.deleted in (LogPosition.at(5), LogPosition.at(6))) == (LogPosition.at(2), True)
    store.settle(die)


def test_a_subscription_that_was_deleted_before_it_was_settled(store):
    """Its creator died in between, and somebody took it from the list and deleted it."""

    def die():
        raise KeyboardInterrupt

    begun = proposal()
    with pytest.raises(KeyboardInterrupt):
        store.create(begun, die)
    store.delete(begun.id, at(6))
    store.settle(at(9))
    ((seen),) = store.changes(0)[1]
    assert seen.deleted <= seen.created, "it sees nothing"


@pytest.mark.parametrize(("settled", "gone"), [(0, False), (7, False), (8, False), (9, True), (100, True)])
def test_purging_needs_an_event_behind_the_end(store, settled, gone):
    kept, ended = (store.create(proposal(), at(3)) for _ in range(2))
    store.delete(ended.id, at(8))
    assert store.purge(LogPosition.at(settled)) == ([ended.id] if gone else [])
    assert settled_ids(store) == ([kept.id] if gone else [kept.id, ended.id])
    assert store.purge(LogPosition.at(settled)) == []


def test_purging_waits_for_every_partition(store):
    other = position_at(1, 0)
    ended = store.create(proposal(), at(3))
    store.delete(ended.id, lambda: LogPosition.at(8, other + 2))
    assert store.purge(LogPosition.at(99)) == []
    assert store.purge(LogPosition.at(8, other + 2)) == []
    assert store.purge(LogPosition.at(8, other + 3)) == [ended.id]


def test_purging_keeps_what_has_no_end_yet(store):
    subscription = store.create(proposal(), at(3))

    def die():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store.delete(subscription.id, die)
    assert store.purge(LogPosition.at(10**9)) == []


def test_purging_as_many_as_there_are(store):
    """More than a statement takes parameters."""
    if store.database.engine.dialect.name != "sqlite":
        pytest.skip("its limit can't be lowered")
    row = {
        "namespace": "default",
        "channel": "default",
        "protocol": "HTTP",
        "sink_digest": "",
        "document": "{}",
        "created": '{"0":1}',
        "deleted": '{"0":2}',
        "deleting": True,
        "first_revision": 1,
        "edited": 1,
        "state": "active",
    }
    with store.database.engine.begin() as connection:
        limit = connection.connection.driver_connection.getlimit(9)  # SQLITE_LIMIT_VARIABLE_NUMBER
        connection.connection.driver_connection.setlimit(9, 1000)
        connection.execute(insert(SUBSCRIPTIONS), [{**row, "id": str(n), "revision": n} for n in range(1100)])
    assert len(store.purge(LogPosition.at(3))) == 1100
    with store.database.engine.begin() as connection:
        connection.connection.driver_connection.setlimit(9, limit)
    assert store.changes(-1)[1] == []


# Many at once


def work(store, name, rounds=8):
    """Create, look and delete; every call has to succeed. No two calls tell of the same end of the log."""
    ends = count(1 + int(name[1:]) * 1000)
    for number in range(rounds):
        store.create_channel(ChannelName(name, f"c{number}"))
        subscription = store.create(proposal(f"{name}/c{number}"), at(next(ends)))
        store.settle(at(next(ends)))
        store.changes(0)
        listed(store)
        if number % 2:
            store.delete(subscription.id, at(next(ends)))
            store.delete_channel(ChannelName(name, f"c{number}"))
            store.purge(LogPosition())


def check_work(store, names, rounds=8):
    kept = listed(store)
    expected = [ChannelName(name, f"c{number}") for name in names for number in range(0, rounds, 2)]
    assert sorted(each.channel for each in kept) == sorted(expected)
    assert all(each.created is not None for each in kept)
    rows = _rows(store)
    assert len(rows) == rounds * len(names)
    for revision in {each.revision for each in rows}:
        together = [each for each in rows if each.revision == revision]
        # Only what one transaction settled, and so at one end of the log, has one revision.
        assert len(together) == 1 or len({each.deleted or each.created for each in together}) == 1


def _rows(store):
    with store.database.engine.connect() as connection:
        return connection.execute(SUBSCRIPTIONS.select()).all()


def test_threads_and_two_stores_on_one_database(database_url):
    with (
        opening(Store, database_url) as one,
        opening(Store, database_url) as other,
        ThreadPoolExecutor(6) as threads,
    ):
        names = [f"t{number}" for number in range(6)]
        list(threads.map(work, [one, other] * 3, names))
        check_work(one, names)
        check_work(other, names)


WORK = """
import sys
from headrace.subscriptions.store.store import Store
from tests.opening import opening
from tests.subscriptions.store.test_store import work
with opening(Store, sys.argv[1]) as store:
    work(store, sys.argv[2], 4)
"""


def test_processes(database_url):
    """From the very beginning: they make the tables too."""
    names = ["p0", "p1", "p2"]
    processes = [subprocess.Popen([sys.executable, "-c", WORK, database_url, name]) for name in names]
    assert [process.wait(200) for process in processes] == [0, 0, 0]
    with opening(Store, database_url) as store:
        check_work(store, names, 4)


def test_changes_are_seen_in_the_order_of_their_revisions(database_url):
    """A follower never goes past a revision that becomes visible later."""
    with (
        opening(Store, database_url) as writing,
        opening(Store, database_url) as watching,
        ThreadPoolExecutor(4) as threads,
    ):
        running = [
            threads.submit(lambda: [writing.create(proposal(), at(1)).id for _ in range(10)])
            for _ in range(4)
        ]
        reached, seen = 0, set()
        while not all(each.done() for each in running):
            reached, changed = watching.changes(reached)
            seen |= {each.id for each in changed}
        seen |= {each.id for each in watching.changes(reached)[1]}
        assert seen == {id_ for each in running for id_ in each.result()}


# Going live elsewhere


def test_a_subscription_that_moves_is_a_change_like_any_other(store):
    made = store.create(proposal(), at(3))
    revision = store.revision()
    seen = []
    store.go_live(made.id, LogPosition.at(9), lambda connection: seen.append(connection.in_transaction()))
    assert seen == [True]
    (moved,) = store.changes(revision)[1]
    assert moved == replace(made, created=LogPosition.at(9))


def test_what_goes_with_a_move_fails_with_it(store):
    made = store.create(proposal(), at(3))

    def fail(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.go_live(made.id, LogPosition.at(9), fail)
    assert store.get(made.id) == made
    store.delete(made.id, at(4))
    with pytest.raises(NotFound):
        store.go_live(made.id, LogPosition.at(9), lambda _: None)


def test_what_goes_with_a_creation_fails_with_it(store):
    def fail(_):
        raise RuntimeError

    with pytest.raises(RuntimeError):
        store.create(proposal(), at(3), fail)
    assert listed(store) == []


# Delivery


def test_a_channel_keeps_its_delivery_object(store):
    store.create_channel(ORDERS, {"retry": 3})
    assert store.channel_deliveries() == {ORDERS: {"retry": 3}}
    revision = store.revision()
    store.change_channel(ORDERS, {"retry": 4})
    assert store.channel_deliveries() == {ORDERS: {"retry": 4}}
    assert store.revision() > revision, "whoever follows the store hears of it"
    store.change_channel(ORDERS, None)
    assert store.channel_deliveries() == {}
    with pytest.raises(NotFound):
        store.change_channel(ChannelName("no", "such"), None)


def test_pausing_resuming_and_ending(store):
    id_ = store.create(proposal(), at(0)).id
    revision = store.revision()
    assert store.pause(id_).paused
    assert [each.paused for each in store.changes(revision)[1]] == [True]
    assert store.end(id_, "status\0").ended == "status\ufffd", "a sink may write what it likes"
    assert store.end(id_, "status 410").ended == "status 410"
    assert (store.get(id_).paused, store.get(id_).ended) == (True, "status 410")
    resumed = store.resume(id_)
    assert (resumed.paused, resumed.ended) == (False, None)
    assert store.get(id_) == resumed
    store.delete(id_, at(0))
    for change in (store.pause, store.resume):
        with pytest.raises(NotFound):
            change(id_)
