"""Mailboxes, on both databases: what comes in, who gets it, and what makes it leave."""

import threading
import time

import pytest
from tests.opening import opening
from tests.passing_time import pass_seconds

from headrace.events.positions import LogPosition, position_at
from headrace.ledger.ledger import Changes, Key, Ledger, Wait
from headrace.ledger.pull.leases import MessageLeases
from headrace.ledger.records.records import Records

LEASE = 30.0


@pytest.fixture
def ledger(database_url):
    with opening(Ledger, database_url) as opened:
        yield opened


@pytest.fixture
def leases(database_url):
    with opening(MessageLeases, database_url) as opened:
        yield opened


def row(position, subscription="a", replay="", event=None, came=None):
    came = time.time() if came is None else came
    return {
        "subscription": subscription,
        "replay": replay,
        "position": position,
        "time": came,
        "event": event,
    }


def fill(ledger, positions, subscription="a", **members):
    ledger.put_mail([row(position, subscription, **members) for position in positions])


def positions(messages):
    return [message.position for message in messages]


def take(leases, consumer, limit=100, subscription="a", lease=LEASE, **how):
    return leases.take(subscription, consumer, lease, limit, **how)


def test_what_comes_in_first_is_handed_out_first_and_once(ledger, leases):
    fill(ledger, [5, 3, 9])
    fill(ledger, [1], "b")
    fill(ledger, [4])
    assert positions(take(leases, "one", 2)) == [5, 3]
    assert positions(take(leases, "two", 10)) == [9, 4]
    assert take(leases, "three") == []
    assert positions(take(leases, "one", subscription="b")) == [1]


def test_what_is_there_already_comes_in_once(ledger, leases):
    fill(ledger, [1, 2])
    fill(ledger, [1, 2, 3])
    fill(ledger, [1], replay="job")
    assert positions(take(leases, "one")) == [1, 2, 3, 1]


def test_an_acknowledgement_removes_what_its_consumer_was_handed_and_nothing_else(ledger, leases):
    fill(ledger, range(6))
    first, second = take(leases, "one", 3), take(leases, "two", 2)
    assert leases.acknowledge("a", "one", LEASE, second[-1].number) == 3
    assert leases.acknowledge("b", "two", LEASE, second[-1].number) == 0
    assert leases.acknowledge("a", "two", LEASE, None, [first[0].number, second[1].number]) == 1
    assert leases.acknowledge("a", "two", LEASE, second[0].number) == 1
    assert leases.fill("a").waiting == 1


def test_the_danger_of_numbers_that_come_late(ledger, leases):
    """Two who write at once may commit in another order: a cursor beyond the late one mustn't take it along."""
    fill(ledger, [1, 2, 3])
    messages = take(leases, "one", 2)
    assert leases.acknowledge("a", "one", LEASE, messages[-1].number + 1000) == 2
    assert positions(take(leases, "one")) == [3]


def test_what_is_not_acknowledged_comes_again(ledger, leases, monkeypatch):
    fill(ledger, [1, 2])
    assert positions(take(leases, "one", lease=30.0)) == [1, 2]
    assert take(leases, "two") == []
    pass_seconds(monkeypatch, 31.0)
    again = take(leases, "two")
    assert [(each.position, each.handed) for each in again] == [(1, 2), (2, 2)]
    assert leases.acknowledge("a", "one", LEASE, again[-1].number) == 0  # too late: they are another's
    assert leases.acknowledge("a", "two", LEASE, again[-1].number) == 2


def test_a_consumer_that_acknowledges_keeps_the_rest(ledger, leases, monkeypatch):
    fill(ledger, [1, 2])
    messages = take(leases, "one", lease=10.0)
    leases.acknowledge("a", "one", LEASE, messages[0].number)
    pass_seconds(monkeypatch, 11.0)
    assert take(leases, "two") == []
    held, until = leases.held("a", "one")
    assert held == 1
    assert until > time.time() + LEASE / 2


def test_what_is_given_back_comes_at_once_and_may_still_be_acknowledged(ledger, leases):
    fill(ledger, [1, 2])
    messages = take(leases, "one")
    assert leases.give_back("a", "one") == 2
    assert leases.held("a", "one") == (0, 0.0)
    assert positions(take(leases, "two", 1)) == [1]
    assert leases.acknowledge("a", "one", LEASE, messages[-1].number) == 1
    assert leases.fill("a").waiting == 1


def test_what_was_not_handed_out_after_all_was_not_handed_out(ledger, leases):
    fill(ledger, [1, 2])
    messages = take(leases, "one")
    leases.take_back("a", [messages[1].number])
    assert [(each.position, each.handed) for each in take(leases, "two")] == [(2, 1)]


def test_who_has_to_be_alone_waits_for_the_other(ledger, leases):
    fill(ledger, range(4))
    messages = take(leases, "one", 2, alone=True)
    assert take(leases, "two", alone=True) == []
    assert positions(take(leases, "one", 1, alone=True)) == [2]
    leases.acknowledge("a", "one", LEASE, messages[-1].number + 1)
    assert positions(take(leases, "two", alone=True)) == [3]


@pytest.mark.parametrize("alone", [False, True])
def test_consumers_at_once_never_share(ledger, leases, alone):
    fill(ledger, range(300))
    got: dict[str, list[int]] = {}

    def consume(name):
        got[name] = []
        deadline = time.monotonic() + 20
        while time.monotonic() < deadline:
            messages = take(leases, name, 7, alone=alone)
            got[name] += positions(messages)
            if messages:
                leases.acknowledge("a", name, LEASE, messages[-1].number)
            elif not leases.fill("a").waiting:
                return

    threads = [threading.Thread(target=consume, args=(f"c{number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(position for each in got.values() for position in each) == list(range(300))
    assert all(each == sorted(each) for each in got.values())


def test_arrivals_are_told_by_mailbox(ledger, leases):
    assert leases.arrived(0) == (0, set())
    fill(ledger, [1], "a")
    newest, whose = leases.arrived(0)
    assert whose == {"a"}
    fill(ledger, [2], "b")
    newer, whose = leases.arrived(newest)
    assert (newer > newest, whose) == (True, {"b"})
    assert leases.arrived(newer) == (newer, set())


def test_the_log_is_needed_for_what_waits_to_be_pulled(ledger):
    fill(ledger, [7, 8], "a")
    fill(ledger, [3], "b", replay="job")
    fill(ledger, [2], "b", event=b"{}")
    fill(ledger, [position_at(1, 4)], "b")
    assert ledger.needed_before(LogPosition.at(20, position_at(1, 9))) == LogPosition.at(7, position_at(1, 4))
    assert ledger.needed_before(LogPosition.at(5)) == LogPosition.at(5)
    ledger.forget_mail("a")
    assert ledger.needed_before(LogPosition.at(20)) == LogPosition.at(20)


def test_a_replay_is_not_over_while_its_events_wait(ledger, leases):
    fill(ledger, [3, 4, 5], replay="job")
    assert ledger.replay_counts("job") == (3, 0)
    assert ledger.replay_waits_within("job", 5, 9)
    assert not ledger.replay_waits_within("job", 6, 9)
    messages = take(leases, "one", 1)
    leases.acknowledge("a", "one", LEASE, messages[-1].number)
    assert ledger.mail_of_replay("job") == 2
    assert ledger.forget_replay("job") == 2
    assert ledger.replay_counts("job") == (0, 0)


def test_what_was_to_go_to_a_sink_moves(ledger, leases):
    ledger.commit(Changes([Wait(Key("a", 4), 0, 1.0, "redriven", b'{"x":1}')], [], [], None))
    (wait,) = ledger.due("a", "sink", 2.0, 10)
    ledger.move_to_mail([wait])
    assert ledger.count() == (0, 0)
    (message,) = take(leases, "one")
    assert (message.position, bytes(message.event)) == (4, b'{"x":1}')


def test_what_is_overdue_is_too_old_or_too_much_and_nobody_holds_it(ledger, leases):
    fill(ledger, range(3), came=100.0)
    fill(ledger, range(3, 8), came=1000.0)
    assert positions(ledger.overdue_mail("a", 500.0, 100, 50)) == [0, 1, 2]
    assert positions(ledger.overdue_mail("a", 0.0, 6, 50)) == [0, 1]
    assert positions(ledger.overdue_mail("a", 5000.0, 100, 4)) == [0, 1, 2, 3]
    take(leases, "one", 2)
    assert positions(ledger.overdue_mail("a", 500.0, 100, 50)) == [2]
    assert ledger.overdue_mail("a", 0.0, 100, 50) == []


def test_what_expires_is_buried_or_dropped_and_always_counted(ledger, leases, database_url):
    fill(ledger, range(4), came=100.0)
    messages = ledger.overdue_mail("a", 500.0, 100, 50)
    ledger.expire_mail(messages[:2], {messages[0].number: b"{}"}, "nobody came")
    ledger.expire_mail(messages[2:3], None, "nobody came")
    with opening(Records, database_url) as records:
        shown = records.statuses(["a"])["a"].document()
        assert (shown["waiting"], shown["dead"]) == (1, 2)
        assert (shown["pull"]["waiting"], shown["pull"]["held"], shown["pull"]["expired"]) == (1, 0, 3)
        assert {"oldest", "lastExpired"} <= shown["pull"].keys()
        records.clear(0.0, 0, gone=["a"])
        assert records.statuses(["a"])["a"].document()["pull"]["expired"] == 0
    assert ledger.who_has_mail() == ["a"]


def test_the_status_tells_of_acknowledgements(ledger, leases, database_url):
    fill(ledger, [1, 2])
    messages = take(leases, "one", 1)
    with opening(Records, database_url) as records:
        assert records.statuses(["a"])["a"].document()["pull"] | {"oldest": ""} == {
            "waiting": 2, "held": 1, "expired": 0, "oldest": "",
        }  # fmt: skip
        leases.acknowledge("a", "one", LEASE, messages[-1].number)
        assert "lastSuccess" in records.statuses(["a"])["a"].document()
