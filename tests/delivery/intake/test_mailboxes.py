"""Subscriptions without a sink: their events go to mailboxes, durably, and leave them in time."""

import asyncio
import time
from dataclasses import replace

import pytest
from sqlalchemy import update
from tests.delivery.harness import delivery_settings, eventually, sample
from tests.delivery.raw_sink import answer
from tests.delivery.test_replays import Past
from tests.opening import opening

from headrace.delivery.intake import mailboxes
from headrace.delivery.intake.expiry import Expiry
from headrace.delivery.retry.redrives import RedriveWorker
from headrace.eventlog.local.reader import SegmentReader
from headrace.eventlog.lookup import EventLookup
from headrace.eventlog.outbox_partitions import WHOLE_OUTBOX, OutboxPartitions
from headrace.events.json_format import decode
from headrace.events.positions import LogPosition
from headrace.jobs.replays import MARK
from headrace.ledger.pull.events import Sources, read_messages
from headrace.ledger.pull.leases import MessageLeases
from headrace.ledger.redrives.redrive import Redrive, RedriveRequest
from headrace.ledger.tables import MAILBOXES
from headrace.subscriptions.subscription import parse_subscription

LEASE = 30.0


@pytest.fixture
def leases(database_url):
    with opening(MessageLeases, database_url) as opened:
        yield opened


def pulled(harness, **settings):
    proposal = parse_subscription({"protocol": "PULL", "protocolsettings": settings})
    return harness.store.create(proposal, lambda: LogPosition.at(harness.log.end)).id


def sources(harness):
    return Sources(EventLookup(SegmentReader(harness.folder / "log")), harness.replays.active_at)


def expiry(harness, ledger=None, shares=WHOLE_OUTBOX, **changes):
    return Expiry(
        ledger or harness.ledger, harness.store, sources(harness), shares, delivery_settings(**changes)
    )


def drain(leases, subscription):
    """Take and acknowledge everything; return the positions in the order in which they came."""
    seen = []
    while messages := leases.take(subscription, "c", LEASE, 100):
        seen += [message.position for message in messages]
        leases.acknowledge(subscription, "c", LEASE, messages[-1].number)
    return seen


async def test_each_event_goes_to_its_mailbox_or_its_sink(harness, sink, leases):
    one, other, pushed = pulled(harness), pulled(harness), harness.subscribe(sink.url + "/a")
    async with harness.delivering():
        positions = harness.send([sample(number) for number in range(20)], one, pushed)
        harness.send([sample(number) for number in range(20, 30)], other)
        await eventually(lambda: len(sink.requests) == 20 and harness.settled())
        assert leases.fill(one).waiting == 20
        assert drain(leases, one) == list(positions)
        assert len(drain(leases, other)) == 10
    assert harness.ledger.cursor() == LogPosition.at(30)


async def test_the_log_keeps_what_waits_to_be_pulled(harness, leases):
    one = pulled(harness)
    async with harness.delivering() as dispatcher:
        harness.send([sample(number) for number in range(9)], one)
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(9))
        assert dispatcher.settled() == LogPosition()
        messages = leases.take(one, "c", LEASE, 4)
        leases.acknowledge(one, "c", LEASE, messages[-1].number)
        assert dispatcher.settled() == LogPosition.at(4)
        drain(leases, one)
        assert dispatcher.settled() == LogPosition.at(9)


async def test_a_crash_neither_loses_nor_doubles_what_waits(harness, leases):
    one = pulled(harness)
    positions = harness.send([sample(number) for number in range(50)], one)
    async with harness.crashing(flush_seconds=60.0):  # the mailbox has it, the cursor never moves
        await eventually(lambda: leases.fill(one).waiting == 50)
    assert harness.ledger.cursor() == LogPosition()
    async with harness.delivering():
        await eventually(harness.settled)
    assert drain(leases, one) == list(positions)


async def test_what_lies_before_a_seek_is_not_mailed(harness, leases):
    one = pulled(harness)
    harness.send([sample(number) for number in range(5)], one)
    harness.store.go_live(one, LogPosition.at(3), lambda _: None)
    async with harness.delivering():
        await eventually(harness.settled)
    assert drain(leases, one) == [3, 4]


async def test_a_replay_ends_when_all_of_it_is_acknowledged(harness, leases, monkeypatch):
    monkeypatch.setattr(mailboxes, "_MOST_REPLAYED", 30)
    one = pulled(harness)
    async with harness.delivering():
        past = Past(harness, one)
        past.append(range(100, 180))
        past.complete()
        await eventually(lambda: leases.fill(one).waiting == 30)
        await asyncio.sleep(0.3)
        assert leases.fill(one).waiting == 30  # no more than may wait
        messages = leases.take(one, "c", LEASE, 10)
        events = read_messages(messages, sources(harness))
        assert [events[each.number].id for each in messages] == [str(number) for number in range(100, 110)]
        assert {each.attributes[MARK] for each in events.values()} == {past.id}
        leases.acknowledge(one, "c", LEASE, messages[-1].number)
        seen: list[int] = []
        deadline = time.monotonic() + 20
        while len(seen) < 70 and time.monotonic() < deadline:
            seen += drain(leases, one)
            await asyncio.sleep(0.05)
        assert seen == list(range(110, 180))
        await eventually(past.is_over)
    assert past.result == {"found": 80, "delivered": 80, "dead": 0}


async def test_a_replay_that_is_cancelled_leaves_nothing(harness, leases):
    one = pulled(harness)
    async with harness.delivering():
        past = Past(harness, one)
        past.append(range(100, 120))
        await eventually(lambda: leases.fill(one).waiting == 20)
        messages = leases.take(one, "c", LEASE, 5)
        harness.jobs.cancel(past.id)
        assert read_messages(messages, sources(harness)) == {}
        await eventually(lambda: leases.fill(one).waiting == 0)


async def test_a_crash_in_a_replay_loses_nothing(harness, leases):
    one = pulled(harness)
    past = Past(harness, one)
    past.append(range(100, 140))
    past.complete()
    async with harness.crashing(flush_seconds=0.01):
        await eventually(lambda: leases.fill(one).waiting > 0)
    seen: set[int] = set()
    async with harness.delivering():
        while not past.is_over():  # what was acknowledged before the cursor knew of it comes once more
            seen |= set(drain(leases, one))
            await asyncio.sleep(0.01)
    assert seen == set(range(100, 140))


async def test_what_was_dead_is_redriven_into_the_mailbox(harness, leases):
    one = pulled(harness)
    async with harness.delivering():
        harness.send([sample(number) for number in range(6)], one)
        await eventually(lambda: leases.fill(one).waiting == 6)
        await asyncio.sleep(0.01)
        assert expiry(harness, pull_retention_seconds=0.0).clear() == 6
        assert (len(harness.dead()), leases.fill(one)) == (
            6,
            leases.fill(one)._replace(waiting=0, expired=6),
        )
        redriving = RedriveWorker(
            harness.records, harness.store, SegmentReader(harness.folder / "log"), WHOLE_OUTBOX
        )
        harness.records.redrives.add(Redrive(RedriveRequest(subscription=one), 6))
        while redriving.move():
            pass
        await eventually(lambda: leases.fill(one).waiting == 6)
        messages = leases.take(one, "c", LEASE, 100)
        events = read_messages(messages, sources(harness))
        assert [events[each.number] for each in messages] == [sample(number) for number in range(6)]
    assert harness.dead() == []


def age(harness, subscription, seconds):
    with harness.ledger.database.engine.begin() as connection:
        older = update(MAILBOXES).where(MAILBOXES.c.subscription == subscription)
        connection.execute(older.values(time=time.time() - seconds))


async def test_what_nobody_pulls_becomes_a_dead_letter_and_frees_the_log(harness, leases):
    kept, dropping, young = pulled(harness), pulled(harness, expired="drop"), pulled(harness)
    harness.send([sample(number) for number in range(7)], kept, dropping, young)
    async with harness.delivering() as dispatcher:
        await eventually(lambda: harness.ledger.cursor() == LogPosition.at(7))
        for each in (kept, dropping):
            age(harness, each, 100.0)
        assert expiry(harness, pull_retention_seconds=50.0).clear() == 14
        assert [(row.subscription, decode(row.event)) for row in harness.dead()] == [
            (kept, sample(number)) for number in range(7)
        ]
        assert "nobody pulled it in time" in harness.dead()[0].reason
        fills = [leases.fill(each) for each in (kept, dropping, young)]
        assert [(each.waiting, each.expired) for each in fills] == [(0, 7), (0, 7), (7, 0)]
        drain(leases, young)
        assert dispatcher.settled() == LogPosition.at(7)


async def test_the_oldest_go_where_too_much_waits(harness, leases):
    one = pulled(harness, expired="drop")
    harness.send([sample(number) for number in range(1200)], one)
    async with harness.delivering():
        await eventually(lambda: leases.fill(one).waiting == 1200)
    assert expiry(harness, pull_max=100).clear() == 1100
    assert drain(leases, one) == list(range(1100, 1200))


async def test_the_mailbox_of_a_deleted_subscription_is_cleared(harness, leases):
    one = pulled(harness)
    harness.send([sample(number) for number in range(7)], one)
    async with harness.delivering():
        await eventually(lambda: leases.fill(one).waiting == 7)
        harness.store.delete(one, lambda: LogPosition.at(harness.log.end))
        assert expiry(harness, shares=OutboxPartitions(frozenset(), 1)).clear() == 0  # another dispatcher's
        assert expiry(harness).clear() == 7
    assert harness.dead() == []
    assert leases.fill(one).waiting == 0


async def test_a_subscription_gets_a_sink_and_what_waited_goes_there(harness, sink, leases):
    one = pulled(harness)
    async with harness.delivering():
        harness.send([sample(number) for number in range(7)], one)
        await eventually(lambda: leases.fill(one).waiting == 7)
        leases.take(one, "c", LEASE, 3)
        harness.store.replace(replace(parse_subscription({"sink": sink.url + "/a"}), id=one))
        assert expiry(harness).clear() == 7
        await eventually(lambda: len(sink.requests) == 7 and harness.settled())


async def test_a_subscription_loses_its_sink_and_what_waited_is_pulled(harness, sink, leases):
    sink.reply = lambda _: answer(503)
    one = harness.subscribe(sink.url + "/a")
    async with harness.delivering(backoff_seconds=0.5, retries=1000):
        positions = harness.send([sample(number) for number in range(7)], one)
        await eventually(lambda: harness.ledger.count()[0] == 7)
        harness.store.replace(replace(parse_subscription({"protocol": "PULL"}), id=one))
        await eventually(lambda: leases.fill(one).waiting == 7)
        assert sorted(drain(leases, one)) == list(positions)
