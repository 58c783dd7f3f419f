"""Redrives by the dispatcher's side: what is moved, at which rate, by whom, and after a crash."""

import time
from itertools import pairwise

import pytest
from sqlalchemy import select
from tests.delivery.harness import eventually, sample
from tests.delivery.raw_sink import answer
from tests.ledger.entries import dead, event, wait, write
from tests.opening import opening

from headrace.database.work_queue import State
from headrace.delivery.retry.redrives import RedriveWorker
from headrace.errors import Conflict
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX, OutboxPartitions
from headrace.ledger.records.records import Records
from headrace.ledger.redrives.redrive import Delivered, Redrive, RedriveRequest
from headrace.ledger.redrives.selection import PAGE, Selection
from headrace.ledger.tables import DEAD, REDRIVE_SHARES, WAITING
from headrace.subscriptions.channels.name import ChannelName


@pytest.fixture
def records(database_url):
    with opening(Records, database_url) as opened:
        yield opened


def redriving(harness, records, shares=WHOLE_OUTBOX):
    return RedriveWorker(records, harness.store, SegmentReader(harness.folder / "log"), shares)


def ask(records, **request):
    redrive = Redrive(RedriveRequest(**request), 0)
    records.redrives.add(redrive)
    return redrive.id


def do(redriving, records, redrive_id):
    while redriving.move():
        pass
    redriving.move()
    return records.redrives.get(redrive_id)


def rows(harness, table):
    with harness.ledger.database.engine.connect() as connection:
        return sorted(
            connection.execute(select(table)).all(), key=lambda row: (row.subscription, row.position)
        )


def sink(harness, number=1):
    return harness.subscribe(f"http://127.0.0.1:1/{number}")


def test_what_is_dead_waits_again_with_its_event(harness, records):
    a, b = sink(harness), sink(harness)
    write(harness.database_url, dead=[dead(a, 1), dead(a, 2), dead(b, 1)])
    ended = do(redriving(harness, records), records, ask(records, subscription=a))
    assert (ended.state, ended.moved) == (State.DONE, 2)
    assert [(row.subscription, row.position) for row in rows(harness, DEAD)] == [(b, 1)]
    found = rows(harness, WAITING)
    assert [(row.subscription, row.position, row.attempts, bytes(row.event)) for row in found] == [
        (a, 1, 0, event(1)),
        (a, 2, 0, event(2)),
    ]
    assert all(row.due <= time.time() for row in found)


def test_only_what_is_asked_for_moves(harness, records):
    harness.store.create_channel(ChannelName("shop", "orders"))
    a, b = sink(harness), sink(harness)
    now = time.time()
    write(
        harness.database_url,
        dead=[dead(a, 1, now - 300, type="x"), dead(a, 2, now - 200), dead(a, 3, now - 100, type="x"), dead(b, 4, now - 200, type="x")],
    )  # fmt: skip
    ledger = redriving(harness, records)
    done = do(ledger, records, ask(records, channel=ChannelName("shop", "orders")))
    assert (done.state, done.moved) == (State.DONE, 0)
    since, until = int((now - 250) * 1000), int((now - 150) * 1000)
    done = do(ledger, records, ask(records, subscription=a, since=since, until=until))
    assert done.moved == 1
    assert [row.position for row in rows(harness, WAITING)] == [2]
    done = do(ledger, records, ask(records, filter={"cel": 'type == "x" && data.number < 4'}))
    assert done.moved == 2
    assert [(row.subscription, row.position) for row in rows(harness, DEAD)] == [(b, 4)]


def test_the_count_is_of_what_moves(harness, records):
    a = sink(harness)
    write(harness.database_url, dead=[dead(a, number, type="xy"[number % 2]) for number in range(PAGE + 7)])
    for filter_, expected in ((None, PAGE + 7), ({"exact": {"type": "x"}}, (PAGE + 8) // 2)):
        request = RedriveRequest(filter=filter_)
        selection = Selection(request, harness.store.listens, lambda _: {}, time.time())
        assert records.count(selection) == expected
    nobody = Selection(RedriveRequest(), lambda _: False, lambda _: {}, time.time())
    assert records.count(nobody) == 0


def test_what_is_given_up_after_it_was_asked_for_stays(harness, records):
    a = sink(harness)
    redrive = ask(records)
    write(harness.database_url, dead=[dead(a, 1, time.time() + 60)])
    assert do(redriving(harness, records), records, redrive).moved == 0


def test_an_event_that_could_not_be_read_stays_dead(harness, records):
    a = sink(harness)
    write(harness.database_url, dead=[dead(a, 1)._replace(event=b"")])
    assert do(redriving(harness, records), records, ask(records)).moved == 0


def test_what_waits_becomes_due(harness, records):
    a = sink(harness)
    positions = harness.record([sample(0, type="x"), sample(1, type="y")])
    later = time.time() + 1000
    write(harness.database_url, waits=[wait(a, position, later) for position in positions])
    ended = do(
        redriving(harness, records), records, ask(records, state="waiting", filter={"exact": {"type": "y"}})
    )
    assert ended.moved == 1
    first, second = rows(harness, WAITING)
    assert (first.due, second.due <= time.time(), second.attempts) == (later, True, 2)
    assert do(redriving(harness, records), records, ask(records, state="waiting")).moved == 1


def test_a_rate_spreads_what_is_due_and_a_cancelled_redrive_stops(harness, records):
    a = sink(harness)
    write(harness.database_url, dead=[dead(a, number) for number in range(100)])
    redrive = ask(records, rate=2.0)
    ledger = redriving(harness, records)
    while ledger.move():
        pass
    found = rows(harness, WAITING)
    dues = sorted(row.due for row in found)
    assert 10 <= len(found) <= 30, "only what is due in the next seconds is moved"
    assert all(later - earlier == pytest.approx(0.5, abs=0.01) for earlier, later in pairwise(dues))
    assert records.redrives.get(redrive).state is State.RUNNING
    assert records.redrives.cancel(redrive).state is State.CANCELLED
    assert not ledger.move()
    assert len(rows(harness, WAITING)) == len(found)
    with pytest.raises(Conflict, match="cancelled already"):
        records.redrives.cancel(redrive)


def test_an_old_redrive_is_forgotten_with_how_far_its_shares_were(harness, records):
    write(harness.database_url, dead=[dead(sink(harness), 1)])
    assert do(redriving(harness, records), records, ask(records)).state is State.DONE
    kept = ask(records)
    records.clear(0.0, 1000)
    assert [each.id for each in records.redrives.list()] == [kept]
    with records.database.reading() as connection:
        assert connection.execute(select(REDRIVE_SHARES)).all() == []


def test_each_dispatcher_moves_its_own_share_and_a_new_one_goes_on(harness, records):
    ids = [sink(harness, number) for number in range(12)]
    write(harness.database_url, dead=[dead(each, number) for each in ids for number in range(3)])
    redrive = ask(records)
    first, second = (
        redriving(harness, records, OutboxPartitions(frozenset({share}), 2)) for share in range(2)
    )
    while first.move():
        pass
    moved = records.redrives.get(redrive)
    assert moved.state is State.RUNNING, "the other share is not done"
    held = [each for each in ids if OutboxPartitions(frozenset({0}), 2).holds(each)]
    assert moved.moved == 3 * len(held)
    assert second.move()
    anew = redriving(harness, records, OutboxPartitions(frozenset({1}), 2))  # the second one was killed
    ended = do(anew, records, redrive)
    assert (ended.state, ended.moved) == (State.DONE, 36)
    assert len(rows(harness, WAITING)) == 36
    assert rows(harness, DEAD) == []


@pytest.mark.parametrize("where", ["dead", "waiting", "delivered", "gone"])
def test_one_delivery_is_made_again(harness, records, where):
    a = sink(harness)
    [position] = harness.record([sample(0)])
    if where == "dead":
        write(harness.database_url, dead=[dead(a, position)])
    elif where == "waiting":
        write(harness.database_url, waits=[wait(a, position, time.time() + 1000)])
    elif where == "gone":
        position += 5
    redrive = Redrive(RedriveRequest(subscription=a), 1, Delivered(a, position))
    records.redrives.add(redrive)
    ended = do(redriving(harness, records), records, redrive.id)
    found = rows(harness, WAITING)
    if where == "gone":
        assert (ended.state, found) == (State.FAILED, [])
        assert "no longer in the log" in ended.error
        return
    assert ended.state is State.DONE
    [row] = found
    assert (row.position, row.due <= time.time()) == (position, True)
    assert row.replay == (redrive.id if where == "delivered" else "")
    assert (row.event is None) == (where == "waiting")


def test_a_deleted_subscription_gets_nothing_more(harness, records):
    a = sink(harness)
    write(harness.database_url, dead=[dead(a, 1)])
    harness.store.delete(a, harness.ledger.cursor)
    assert do(redriving(harness, records), records, ask(records)).moved == 0
    redrive = Redrive(RedriveRequest(subscription=a), 1, Delivered(a, 1))
    records.redrives.add(redrive)
    assert do(redriving(harness, records), records, redrive.id).error == "its subscription was deleted"


async def test_redriven_events_are_delivered(harness, records, sink):
    a = harness.subscribe(sink.url)
    sink.reply = lambda _: answer(400)
    harness.send([sample(0), sample(1)], a)
    async with harness.delivering():
        await eventually(lambda: harness.ledger.count() == (0, 2))
    sink.reply = lambda _: answer(200)
    sink.requests.clear()
    assert do(redriving(harness, records), records, ask(records, subscription=a)).moved == 2
    async with harness.delivering():
        await eventually(lambda: harness.ledger.count() == (0, 0))
    assert sorted(sink.ids) == ["0", "1"]
