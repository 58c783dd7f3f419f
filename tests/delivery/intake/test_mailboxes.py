"""Subscriptions without a sink: their events go to mailboxes, durably, and leave them in time."""

import asyncio
import time
from contextlib import closing
from dataclasses import replace

import pytest
from sqlalchemy import update
from tests.delivery.office import delivery_settings, eventually, sample
from tests.delivery.raw_sink import answer
from tests.delivery.test_replays import Past

from headrace.delivery.intake import mailboxes as mailing
from headrace.delivery.intake.expiry import Expiry
from headrace.delivery.retry.redrives import Redriving
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.lookup import EventLookup
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX, OutboxPartitions
from headrace.events.json_format import decode
from headrace.events.positions import LogPosition
from headrace.jobs.replays import MARK
from headrace.ledger.pull.consumers import Mailroom
from headrace.ledger.pull.events import Sources, read_letters
from headrace.ledger.redrives.redrive import Redrive, RedriveRequest
from headrace.ledger.tables import MAILBOXES
from headrace.subscriptions.subscription import parse_subscription

LEASE = 30.0


@pytest.fixture
def mailroom(database_url):
    with closing(Mailroom(database_url)) as opened:
        yield opened


def pulled(office, **settings):
    proposal = parse_subscription({"protocol": "PULL", "protocolsettings": settings})
    return office.store.create(proposal, lambda: LogPosition.at(office.log.end)).id


def sources(office):
    return Sources(EventLookup(SegmentReader(office.folder / "log")), office.replays.active_at)


def expiry(office, ledger=None, shares=WHOLE_OUTBOX, **changes):
    return Expiry(
        ledger or office.ledger, office.store, sources(office), shares, delivery_settings(**changes)
    )


def drain(mailroom, subscription):
    """Take and acknowledge everything; return the positions in the order in which they came."""
    seen = []
    while letters := mailroom.take(subscription, "c", LEASE, 100):
        seen += [letter.position for letter in letters]
        mailroom.acknowledge(subscription, "c", LEASE, letters[-1].number)
    return seen


async def test_each_event_goes_to_its_mailbox_or_its_sink(office, sink, mailroom):
    one, other, pushed = pulled(office), pulled(office), office.subscribe(sink.url + "/a")
    async with office.delivering():
        positions = office.send([sample(number) for number in range(20)], one, pushed)
        office.send([sample(number) for number in range(20, 30)], other)
        await eventually(lambda: len(sink.requests) == 20 and office.settled())
        assert mailroom.fill(one).waiting == 20
        assert drain(mailroom, one) == list(positions)
        assert len(drain(mailroom, other)) == 10
    assert office.ledger.cursor() == LogPosition.at(30)


async def test_the_log_keeps_what_waits_to_be_pulled(office, mailroom):
    one = pulled(office)
    async with office.delivering() as dispatcher:
        office.send([sample(number) for number in range(9)], one)
        await eventually(lambda: office.ledger.cursor() == LogPosition.at(9))
        assert dispatcher.settled() == LogPosition()
        letters = mailroom.take(one, "c", LEASE, 4)
        mailroom.acknowledge(one, "c", LEASE, letters[-1].number)
        assert dispatcher.settled() == LogPosition.at(4)
        drain(mailroom, one)
        assert dispatcher.settled() == LogPosition.at(9)


async def test_a_crash_neither_loses_nor_doubles_what_waits(office, mailroom):
    one = pulled(office)
    positions = office.send([sample(number) for number in range(50)], one)
    async with office.crashing(flush_seconds=60.0):  # the mailbox has it, the cursor never moves
        await eventually(lambda: mailroom.fill(one).waiting == 50)
    assert office.ledger.cursor() == LogPosition()
    async with office.delivering():
        await eventually(office.settled)
    assert drain(mailroom, one) == list(positions)


async def test_what_lies_before_a_seek_is_not_mailed(office, mailroom):
    one = pulled(office)
    office.send([sample(number) for number in range(5)], one)
    office.store.go_live(one, LogPosition.at(3), lambda _: None)
    async with office.delivering():
        await eventually(office.settled)
    assert drain(mailroom, one) == [3, 4]


async def test_a_replay_ends_when_all_of_it_is_acknowledged(office, mailroom, monkeypatch):
    monkeypatch.setattr(mailing, "_MOST_REPLAYED", 30)
    one = pulled(office)
    async with office.delivering():
        past = Past(office, one)
        past.append(range(100, 180))
        past.complete()
        await eventually(lambda: mailroom.fill(one).waiting == 30)
        await asyncio.sleep(0.3)
        assert mailroom.fill(one).waiting == 30  # no more than may wait
        letters = mailroom.take(one, "c", LEASE, 10)
        events = read_letters(letters, sources(office))
        assert [events[each.number].id for each in letters] == [str(number) for number in range(100, 110)]
        assert {each.attributes[MARK] for each in events.values()} == {past.id}
        mailroom.acknowledge(one, "c", LEASE, letters[-1].number)
        seen: list[int] = []
        deadline = time.monotonic() + 20
        while len(seen) < 70 and time.monotonic() < deadline:
            seen += drain(mailroom, one)
            await asyncio.sleep(0.05)
        assert seen == list(range(110, 180))
        await eventually(past.is_over)
    assert past.result == {"found": 80, "delivered": 80, "dead": 0}


async def test_a_replay_that_is_cancelled_leaves_nothing(office, mailroom):
    one = pulled(office)
    async with office.delivering():
        past = Past(office, one)
        past.append(range(100, 120))
        await eventually(lambda: mailroom.fill(one).waiting == 20)
        letters = mailroom.take(one, "c", LEASE, 5)
        office.jobs.cancel(past.id)
        assert read_letters(letters, sources(office)) == {}
        await eventually(lambda: mailroom.fill(one).waiting == 0)


async def test_a_crash_in_a_replay_loses_nothing(office, mailroom):
    one = pulled(office)
    past = Past(office, one)
    past.append(range(100, 140))
    past.complete()
    async with office.crashing(flush_seconds=0.01):
        await eventually(lambda: mailroom.fill(one).waiting > 0)
    seen: set[int] = set()
    async with office.delivering():
        while not past.is_over():  # what was acknowledged before the cursor knew of it comes once more
            seen |= set(drain(mailroom, one))
            await asyncio.sleep(0.01)
    assert seen == set(range(100, 140))


async def test_what_was_dead_is_redriven_into_the_mailbox(office, mailroom):
    one = pulled(office)
    async with office.delivering():
        office.send([sample(number) for number in range(6)], one)
        await eventually(lambda: mailroom.fill(one).waiting == 6)
        await asyncio.sleep(0.01)
        assert expiry(office, pull_retention_seconds=0.0).clear() == 6
        assert (len(office.dead()), mailroom.fill(one)) == (
            6,
            mailroom.fill(one)._replace(waiting=0, expired=6),
        )
        redriving = Redriving(
            office.records, office.store, SegmentReader(office.folder / "log"), WHOLE_OUTBOX
        )
        office.records.add_redrive(Redrive(RedriveRequest(subscription=one), 6))
        while redriving.step():
            pass
        await eventually(lambda: mailroom.fill(one).waiting == 6)
        letters = mailroom.take(one, "c", LEASE, 100)
        events = read_letters(letters, sources(office))
        assert [events[each.number] for each in letters] == [sample(number) for number in range(6)]
    assert office.dead() == []


def age(office, subscription, seconds):
    with office.ledger._engine.begin() as connection:
        older = update(MAILBOXES).where(MAILBOXES.c.subscription == subscription)
        connection.execute(older.values(time=time.time() - seconds))


async def test_what_nobody_pulls_becomes_a_dead_letter_and_frees_the_log(office, mailroom):
    kept, dropping, young = pulled(office), pulled(office, expired="drop"), pulled(office)
    office.send([sample(number) for number in range(7)], kept, dropping, young)
    async with office.delivering() as dispatcher:
        await eventually(lambda: office.ledger.cursor() == LogPosition.at(7))
        for each in (kept, dropping):
            age(office, each, 100.0)
        assert expiry(office, pull_retention_seconds=50.0).clear() == 14
        assert [(row.subscription, decode(row.event)) for row in office.dead()] == [
            (kept, sample(number)) for number in range(7)
        ]
        assert "nobody pulled it in time" in office.dead()[0].reason
        fills = [mailroom.fill(each) for each in (kept, dropping, young)]
        assert [(each.waiting, each.expired) for each in fills] == [(0, 7), (0, 7), (7, 0)]
        drain(mailroom, young)
        assert dispatcher.settled() == LogPosition.at(7)


async def test_the_oldest_go_where_too_much_waits(office, mailroom):
    one = pulled(office, expired="drop")
    office.send([sample(number) for number in range(1200)], one)
    async with office.delivering():
        await eventually(lambda: mailroom.fill(one).waiting == 1200)
    assert expiry(office, pull_max=100).clear() == 1100
    assert drain(mailroom, one) == list(range(1100, 1200))


async def test_the_mailbox_of_a_deleted_subscription_is_cleared(office, mailroom):
    one = pulled(office)
    office.send([sample(number) for number in range(7)], one)
    async with office.delivering():
        await eventually(lambda: mailroom.fill(one).waiting == 7)
        office.store.delete(one, lambda: LogPosition.at(office.log.end))
        assert expiry(office, shares=OutboxPartitions(frozenset(), 1)).clear() == 0  # another dispatcher's
        assert expiry(office).clear() == 7
    assert office.dead() == []
    assert mailroom.fill(one).waiting == 0


async def test_a_subscription_gets_a_sink_and_what_waited_goes_there(office, sink, mailroom):
    one = pulled(office)
    async with office.delivering():
        office.send([sample(number) for number in range(7)], one)
        await eventually(lambda: mailroom.fill(one).waiting == 7)
        mailroom.take(one, "c", LEASE, 3)
        office.store.replace(replace(parse_subscription({"sink": sink.url + "/a"}), id=one))
        assert expiry(office).clear() == 7
        await eventually(lambda: len(sink.requests) == 7 and office.settled())


async def test_a_subscription_loses_its_sink_and_what_waited_is_pulled(office, sink, mailroom):
    sink.reply = lambda _: answer(503)
    one = office.subscribe(sink.url + "/a")
    async with office.delivering(backoff_seconds=0.5, retries=1000):
        positions = office.send([sample(number) for number in range(7)], one)
        await eventually(lambda: office.ledger.count()[0] == 7)
        office.store.replace(replace(parse_subscription({"protocol": "PULL"}), id=one))
        await eventually(lambda: mailroom.fill(one).waiting == 7)
        assert sorted(drain(mailroom, one)) == list(positions)
