import pytest
from sqlalchemy import select, update
from sqlalchemy.exc import IntegrityError

from headrace.database.database import Database
from headrace.eventlog.outbox_partitions import OutboxPartitions
from headrace.events.positions import LogPosition, position_at
from headrace.ledger import ledger as ledger_module
from headrace.ledger.ledger import Changes, GivenUp, Key, Ledger, Wait, WaitBatch
from headrace.ledger.records.attempts import Attempt
from headrace.ledger.settled import Settled
from headrace.ledger.stages import DEAD_LETTER, REPLY, SINK
from headrace.ledger.tables import ATTEMPTS, DEAD, SETTLED


@pytest.fixture
def ledger(database_url):
    ledger = Ledger(Database(database_url))
    yield ledger
    ledger.database.close()


def wait(subscription="a", position=0, attempts=1, due=100.0, reason="status 500"):
    return Wait(Key(subscription, position), attempts, due, reason)


def burial(subscription="a", position=0, attempts=4, event=b"{}"):
    return GivenUp(Key(subscription, position), attempts, 50.0, "status 400", event)


def commit(ledger, waits=(), burials=(), finished=(), cursor=None):
    ledger.commit(Changes(list(waits), list(burials), list(finished), cursor))


def test_a_new_ledger_begins_at_nought_and_is_empty(ledger):
    assert ledger.cursor() == LogPosition()
    assert ledger.count() == (0, 0)
    assert ledger.needed_before(LogPosition.at(9)) == LogPosition.at(9)
    assert ledger.earliest() == []
    assert ledger.last_kept() == LogPosition()
    assert ledger.kept(0, 9) == set()


def test_the_cursor_stays_where_it_was_put(ledger, database_url):
    commit(ledger, cursor=LogPosition.at(5))
    commit(ledger, waits=[wait()])
    commit(ledger, cursor=LogPosition.at(1 << 40))
    ledger.database.close()
    again = Ledger(Database(database_url))
    assert again.cursor() == LogPosition.at(1 << 40)
    assert again.count() == (1, 0)
    again.database.close()


def positions(waits):
    return [each.key.position for each in waits]


def test_what_is_due_comes_in_that_order_and_bounded(ledger):
    commit(ledger, waits=[wait(position=p, due=110.0 - p) for p in (5, 3, 9, 1)] + [wait("b", 0, due=1.0)])
    assert positions(ledger.due("a", SINK, 107.0, 10)) == [9, 5, 3]
    assert positions(ledger.due("a", SINK, 107.0, 2)) == [9, 5]
    assert ledger.due("a", SINK, 100.9, 10) == []
    assert ledger.due("a", REPLY, 110.0, 10) == []
    assert ledger.due("a", SINK, 101.0, 1) == [wait(position=9, due=101.0)]


def test_who_waits_and_until_when(ledger):
    commit(
        ledger,
        waits=[
            wait("a", 0),
            wait("a", 1, due=90.0),
            wait("b", 0, due=100.5),
            wait("c", 0, due=200.0),
            Wait(Key("b", 7, "r", REPLY), 0, 3.0, "a reply", b"{}"),
        ],
    )
    assert sorted(ledger.earliest()) == [
        ("a", SINK, 90.0),
        ("b", REPLY, 3.0),
        ("b", SINK, 100.5),
        ("c", SINK, 200.0),
    ]
    assert ledger.next_due("a", SINK, 90.0) == 100.0
    assert ledger.next_due("a", SINK, 100.0) is None
    assert ledger.needed_before(LogPosition.at(9)) == LogPosition()


def test_in_order_comes_what_waits_for_the_sink_whenever_it_is_due(ledger):
    waits = [wait(position=p, due=200.0 - p) for p in (5, 3, 9, 1)]
    commit(ledger, waits=[*waits, Wait(Key("a", 2, "", DEAD_LETTER), 0, 1.0, "refused", None, "{}")])
    assert positions(ledger.in_order("a", 3)) == [1, 3, 5]
    assert ledger.in_order("b", 3) == []


def test_each_partition_and_each_replay_has_its_part_of_what_comes_in_order(ledger):
    other = position_at(3, 0)
    commit(ledger, waits=[wait(position=p) for p in (*range(10), *range(other, other + 10))])
    commit(ledger, waits=[Wait(Key("a", p, "r"), 1, 9.0, "why") for p in range(10)])
    assert positions(ledger.in_order("a", 6)) == [0, 1, other, other + 1, 0, 1]


def test_a_row_has_its_event_and_its_failure(ledger):
    whole = Wait(Key("a", 2, "r", DEAD_LETTER), 3, 1.0, "refused", b"{}", '{"why": 1}')
    commit(ledger, waits=[whole])
    assert ledger.due("a", DEAD_LETTER, 2.0, 9) == [whole]
    commit(ledger, finished=[whole.key._replace(stage=SINK)])
    assert ledger.count() == (1, 0)
    commit(ledger, finished=[whole.key])
    assert ledger.count() == (0, 0)


def test_a_wait_replaces_the_one_before(ledger):
    commit(ledger, waits=[wait(attempts=1, due=100.0)])
    commit(ledger, waits=[wait(attempts=2, due=300.0, reason="timed out")])
    assert ledger.due("a", SINK, 1000.0, 10) == [wait(attempts=2, due=300.0, reason="timed out")]


def test_what_is_finished_waits_no_more(ledger):
    commit(ledger, waits=[wait("a", 1), wait("a", 2), wait("b", 1)])
    commit(ledger, finished=[Key("a", 1), Key("a", 77)])
    assert ledger.kept(0, 9) == {("a", 2), ("b", 1)}


def test_the_dead_keep_their_event_and_wait_no_more(ledger):
    commit(ledger, waits=[wait("a", 1)])
    commit(ledger, burials=[burial("a", 1, event=b'{"id": "1"}')])
    commit(ledger, burials=[burial("a", 1, attempts=9, event=b'{"id": "1"}')])
    assert ledger.count() == (0, 1)
    with ledger.database.engine.connect() as connection:
        (row,) = connection.execute(select(DEAD))
    assert row == ("a", SINK, "", 1, 9, 50.0, "status 400", b'{"id": "1"}')


def test_kept_are_the_waiting_and_the_dead_from_a_position_on(ledger):
    commit(
        ledger,
        waits=[wait("a", 4), wait("a", 5), wait("b", 6)],
        burials=[burial("c", 4), burial("c", 7)],
    )
    assert ledger.kept(5, 7) == {("a", 5), ("b", 6), ("c", 7)}
    assert ledger.kept(4, 6) == {("a", 4), ("a", 5), ("b", 6), ("c", 4)}
    assert ledger.last_kept() == LogPosition.at(8)


def test_what_is_kept_ends_in_each_partition(ledger):
    other = position_at(2, 0)
    commit(ledger, waits=[wait("a", 4), wait("a", other + 1)], burials=[burial("a", other + 6)])
    assert ledger.last_kept() == LogPosition.at(5, other + 7)


def test_a_deleted_subscription_is_forgotten(ledger):
    commit(ledger, waits=[wait("a", 1), wait("a", 2), wait("b", 1)])
    assert ledger.forget("a") == 2
    assert ledger.forget("a") == 0
    assert ledger.kept(0, 9) == {("b", 1)}


def test_forgetting_goes_on_until_nothing_is_left(ledger, monkeypatch):
    monkeypatch.setattr(ledger_module, "_FORGOTTEN_AT_A_TIME", 3)
    commit(ledger, waits=[wait("a", p) for p in range(4)] + [Wait(Key("a", 9, "", REPLY), 0, 1.0, "", b"{}")])
    assert [ledger.forget("a", SINK) for _ in range(3)] == [3, 1, 0]
    assert [ledger.forget("a") for _ in range(2)] == [1, 0]


def test_a_commit_is_all_or_nothing(ledger):
    commit(ledger, waits=[wait("old", 1)], cursor=LogPosition.at(3))
    with pytest.raises(IntegrityError):
        commit(
            ledger, waits=[wait("new", 1), wait("new", 1)], finished=[Key("old", 1)], cursor=LogPosition.at(9)
        )
    assert ledger.cursor() == LogPosition.at(3)
    assert ledger.kept(0, 9) == {("old", 1)}


def test_two_ledgers_of_one_database_see_the_same(ledger, database_url):
    other = Ledger(Database(database_url))
    commit(ledger, waits=[wait()], cursor=LogPosition.at(4))
    assert (other.cursor(), other.count()) == (LogPosition.at(4), (1, 0))
    other.database.close()


def test_a_replay_has_a_cursor_waits_and_dead_of_its_own(ledger):
    replayed = Key("a", 1, "r")
    ledger.commit(
        Changes(
            [wait("a", 1), Wait(replayed, 1, 100.0, "status 500")],
            [GivenUp(Key("a", 2, "r"), 1, 50.0, "status 400", b"{}")],
            [],
            None,
            {"r": 3, "q": 1},
        )
    )
    assert (ledger.replay_cursor("r"), ledger.replay_cursor("q"), ledger.replay_cursor("p")) == (3, 1, 0)
    assert ledger.replay_counts("r") == (1, 1)
    assert ledger.replay_waits_within("r", 0, 1)
    assert not ledger.replay_waits_within("r", 2, 9)
    assert ledger.kept(0, 9) == {("a", 1)}
    assert ledger.kept(0, 9, "r") == {("a", 1), ("a", 2)}
    commit(ledger, finished=[Key("a", 1)])
    assert ledger.needed_before(LogPosition.at(9)) == LogPosition.at(9)
    assert ledger.forget_replay("r") == 1
    assert (ledger.replay_cursor("r"), ledger.replay_counts("r")) == (0, (0, 1))


def test_partitions_wait_for_themselves(ledger):
    other = position_at(1, 0)
    commit(ledger, waits=[wait("a", 3), wait("a", other + 5)], cursor=LogPosition.at(7, other + 9))
    assert ledger.needed_before(ledger.cursor()) == LogPosition.at(3, other + 5)
    assert ledger.needed_before(LogPosition.at(7)) == LogPosition.at(3)


def test_what_carries_its_event_does_not_need_the_log(ledger):
    commit(ledger, waits=[wait("a", 5), Wait(Key("a", 2), 1, 9.0, "again", b"{}")])
    assert ledger.needed_before(LogPosition.at(9)) == LogPosition.at(5)


def test_what_comes_together_waits_and_a_repeated_commit_changes_nothing(ledger):
    changes = Changes(
        [wait("a", 5)],
        [],
        [],
        None,
        batches=[WaitBatch("a", [4, 5], 9.0, "full"), WaitBatch("b", [4], 9.0, "full")],
    )
    ledger.commit(changes)
    ledger.commit(changes)
    assert ledger.count() == (3, 0)
    (first, kept), (other,) = ledger.in_order("a", 9), ledger.in_order("b", 9)
    assert first == Wait(Key("a", 4), 0, 9.0, "full")
    assert kept == wait("a", 5), "what the ledger held stays as it was"
    assert other.key == Key("b", 4)


def test_attempts_are_written_with_everything_else(ledger):
    attempt = Attempt("a", 7, "", SINK, 2, 1.5, 0.25, "again", 503, "busy", (("Retry-After", "3"),), b"no")
    ledger.commit(Changes([wait("a", 7)], [], [], None, attempts=[attempt]))
    with ledger.database.engine.connect() as connection:
        (row,) = connection.execute(select(ATTEMPTS))
    assert row[1:] == (
        "a", 7, "", SINK, 2, 1.5, 0.25, "again", 503, "busy", '[["Retry-After","3"]]', b"no",
    )  # fmt: skip


def test_what_a_sink_says_fits_a_column_whatever_it_is(ledger):
    bad = "no\0 \udc80 " + "x" * 5000
    attempt = Attempt("a", 7, "", SINK, 1, 1.0, 0.1, "again", 500, bad, ((bad, bad),), b"\0\xff")
    waits, burials = [wait("a", 7, reason=bad)], [GivenUp(Key("a", 8), 1, 1.0, bad, b"{}")]
    ledger.commit(Changes(waits, burials, [], None, attempts=[attempt]))
    (found,) = ledger.due("a", SINK, 200.0, 9)
    assert found.reason.startswith("no\ufffd ? xxx")
    assert len(found.reason) < 2100


def settled(ledger, *rows, passed=()):
    ledger.commit(Changes([], [], [], None, settled=rows, passed=passed))


def test_what_was_settled_behind_the_cursor_is_known_after_a_start(ledger):
    settled(ledger, Settled(1, "", {"a": [3, 9], "b": [4]}), Settled(2, "job", {"a": [5]}))
    assert ledger.kept(0, 8) == {("a", 3), ("b", 4)}
    assert ledger.kept(0, 8, "job") == {("a", 5)}
    assert ledger.last_kept() == LogPosition.at(10)
    known, number = ledger.settled()
    assert ({each.number for each in known}, number) == ({1, 2}, 3)


def test_what_the_cursor_has_passed_and_replays_that_are_over_are_forgotten(ledger):
    settled(ledger, Settled(1, "", {"a": [3]}), Settled(2, "", {"a": [5]}), Settled(3, "job", {"a": [7]}))
    settled(ledger, passed=[1])
    assert ledger.kept(0, 9) == {("a", 5)}
    ledger.forget_replay("job")
    assert ledger.settled() == ([Settled(2, "", {"a": [5]})], 3)


def test_each_share_has_its_own_part(database_url):
    with Database(database_url) as database:
        both = OutboxPartitions(frozenset({0, 1}), 2)
        names = {both.of(name): name for name in ("a", "b", "c", "d", "e")}
        settled(Ledger(database, both), Settled(1, "", {names[0]: [1], names[1]: [2]}))
        second = Ledger(database, OutboxPartitions(frozenset({1}), 2))
        assert second.kept(0, 9) == {(names[1], 2)}
        settled(second, passed=[1])
        assert Ledger(database, both).kept(0, 9) == {(names[0], 1)}


def test_what_is_damaged_there_is_repeated_rather_than_lost(ledger, caplog):
    settled(ledger, Settled(1, "", {"a": [3]}))
    with ledger.database.writing() as connection:
        pairs = connection.execute(select(SETTLED.c.pairs)).scalar()
        connection.execute(update(SETTLED).values(pairs=pairs[:-1] + bytes([pairs[-1] ^ 1])))
    assert ledger.kept(0, 9) == set()
    assert "repeated" in caplog.text
