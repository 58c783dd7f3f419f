import pytest
from sqlalchemy import select
from sqlalchemy.exc import IntegrityError

from headrace.events.positions import Cut, position_at
from headrace.ledger.ledger import Burial, Changes, Key, Ledger, Wait
from headrace.ledger.tables import DEAD


@pytest.fixture
def ledger(database_url):
    ledger = Ledger(database_url)
    yield ledger
    ledger.close()


def wait(subscription="a", position=0, attempts=1, due=100.0, reason="status 500"):
    return Wait(Key(subscription, position), attempts, due, reason)


def burial(subscription="a", position=0, attempts=4, event=b"{}"):
    return Burial(Key(subscription, position), attempts, 50.0, "status 400", event)


def commit(ledger, waits=(), burials=(), finished=(), cursor=None):
    ledger.commit(Changes(list(waits), list(burials), list(finished), cursor))


def test_a_new_ledger_begins_at_nought_and_is_empty(ledger):
    assert ledger.cursor() == Cut()
    assert ledger.count() == (0, 0)
    assert ledger.next_due() is None
    assert ledger.needed_before(Cut.at(9)) == Cut.at(9)
    assert ledger.subscriptions_due(1e12) == []
    assert ledger.kept_behind(Cut.at(0)) == set()


def test_the_cursor_stays_where_it_was_put(ledger, database_url):
    commit(ledger, cursor=Cut.at(5))
    commit(ledger, waits=[wait()])
    commit(ledger, cursor=Cut.at(1 << 40))
    ledger.close()
    again = Ledger(database_url)
    assert again.cursor() == Cut.at(1 << 40)
    assert again.count() == (1, 0)
    again.close()


def test_what_is_due_comes_oldest_first_and_bounded(ledger):
    commit(ledger, waits=[wait(position=p, due=100.0 + p) for p in (5, 3, 9, 1)] + [wait("b", 0, due=1.0)])
    assert [each.key.position for each in ledger.due("a", 105.0, 10)] == [1, 3, 5]
    assert [each.key.position for each in ledger.due("a", 105.0, 2)] == [1, 3]
    assert [each.key.position for each in ledger.due("a", 105.0, 2, without=[Key("a", 1), Key("a", 3)])] == [
        5
    ]
    assert ledger.due("a", 100.9, 10) == []
    assert ledger.due("a", 101.0, 1) == [wait(position=1, due=101.0)]


def test_who_has_something_due(ledger):
    commit(ledger, waits=[wait("a", 0), wait("a", 1), wait("b", 0, due=100.5), wait("c", 0, due=200.0)])
    assert sorted(ledger.subscriptions_due(100.5)) == ["a", "b"]
    assert ledger.next_due() == 100.0
    assert ledger.needed_before(Cut.at(9)) == Cut()


def test_a_wait_replaces_the_one_before(ledger):
    commit(ledger, waits=[wait(attempts=1, due=100.0)])
    commit(ledger, waits=[wait(attempts=2, due=300.0, reason="timed out")])
    assert ledger.due("a", 1000.0, 10) == [wait(attempts=2, due=300.0, reason="timed out")]


def test_what_is_finished_waits_no_more(ledger):
    commit(ledger, waits=[wait("a", 1), wait("a", 2), wait("b", 1)])
    commit(ledger, finished=[Key("a", 1), Key("a", 77)])
    assert ledger.kept_behind(Cut.at(0)) == {Key("a", 2), Key("b", 1)}


def test_the_dead_keep_their_event_and_wait_no_more(ledger):
    commit(ledger, waits=[wait("a", 1)])
    commit(ledger, burials=[burial("a", 1, event=b'{"id": "1"}')])
    commit(ledger, burials=[burial("a", 1, attempts=9, event=b'{"id": "1"}')])
    assert ledger.count() == (0, 1)
    with ledger._engine.connect() as connection:
        (row,) = connection.execute(select(DEAD))
    assert row == ("a", "sink", "", 1, 9, 50.0, "status 400", b'{"id": "1"}')


def test_kept_are_the_waiting_and_the_dead_from_a_position_on(ledger):
    commit(
        ledger,
        waits=[wait("a", 4), wait("a", 5), wait("b", 6)],
        burials=[burial("c", 4), burial("c", 7)],
    )
    assert ledger.kept_behind(Cut.at(5)) == {Key("a", 5), Key("b", 6), Key("c", 7)}


def test_a_deleted_subscription_is_forgotten(ledger):
    commit(ledger, waits=[wait("a", 1), wait("a", 2), wait("b", 1)])
    assert ledger.forget("a") == 2
    assert ledger.forget("a") == 0
    assert ledger.kept_behind(Cut.at(0)) == {Key("b", 1)}


def test_a_commit_is_all_or_nothing(ledger):
    commit(ledger, waits=[wait("old", 1)], cursor=Cut.at(3))
    with pytest.raises(IntegrityError):
        commit(ledger, waits=[wait("new", 1), wait("new", 1)], finished=[Key("old", 1)], cursor=Cut.at(9))
    assert ledger.cursor() == Cut.at(3)
    assert ledger.kept_behind(Cut.at(0)) == {Key("old", 1)}


def test_two_ledgers_of_one_database_see_the_same(ledger, database_url):
    other = Ledger(database_url)
    commit(ledger, waits=[wait()], cursor=Cut.at(4))
    assert (other.cursor(), other.count()) == (Cut.at(4), (1, 0))
    other.close()


def test_a_replay_has_a_cursor_waits_and_dead_of_its_own(ledger):
    replayed = Key("a", 1, "r")
    ledger.commit(
        Changes(
            [wait("a", 1), Wait(replayed, 1, 100.0, "status 500")],
            [Burial(Key("a", 2, "r"), 1, 50.0, "status 400", b"{}")],
            [],
            None,
            {"r": 3, "q": 1},
        )
    )
    assert (ledger.replay_cursor("r"), ledger.replay_cursor("q"), ledger.replay_cursor("p")) == (3, 1, 0)
    assert (ledger.replay_waits("r"), ledger.replay_dead("r")) == ({1}, {2})
    assert [each.key for each in ledger.due("a", 200.0, 9, without=[replayed])] == [Key("a", 1)]
    assert ledger.kept_behind(Cut()) == {Key("a", 1)}
    commit(ledger, finished=[Key("a", 1)])
    assert ledger.needed_before(Cut.at(9)) == Cut.at(9)
    assert ledger.forget_replay("r") == 1
    assert (ledger.replay_cursor("r"), ledger.replay_waits("r")) == (0, set())


def test_lanes_wait_for_themselves(ledger):
    other = position_at(1, 0)
    commit(ledger, waits=[wait("a", 3), wait("a", other + 5)], cursor=Cut.at(7, other + 9))
    assert ledger.needed_before(ledger.cursor()) == Cut.at(3, other + 5)
    assert ledger.needed_before(Cut.at(7)) == Cut.at(3)
    assert ledger.kept_behind(Cut.at(4)) == {Key("a", other + 5)}
    assert ledger.kept_behind(Cut.at(other + 6)) == {Key("a", 3)}
