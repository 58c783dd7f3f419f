"""The broker is killed in the middle of transactions and comes back; a writer stands still for too long."""

import asyncio
import time
from contextlib import closing, contextmanager
from dataclasses import replace
from threading import Barrier, Thread

import pytest
from tests.eventlog.arrivals import arrivals
from tests.eventlog.kafka.conftest import eventually
from tests.eventlog.kafka.outbox.test_writer import committed, pairs, rows
from tests.eventlog.kafka.test_log import read_all

from headrace.errors import BrokerUnavailable, LogError, LogLocked, LogUnavailable
from headrace.eventlog.kafka.outbox import writer as outbox
from headrace.eventlog.kafka.outbox.writer import Coverage, KafkaOutboxWriter
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.events.positions import LogPosition

_WHOLE = Transactions.transaction


@pytest.fixture
def settings(settings):
    return replace(settings, timeout_seconds=4.0)


@pytest.fixture
def before_commit(monkeypatch):
    """Do something in the next transaction of each writer, once the brokers have all of its records."""

    def arrange(action):
        begun = set()

        @contextmanager
        def interrupted(self):
            with _WHOLE(self) as producer:
                yield producer
                if self not in begun:
                    begun.add(self)
                    producer.flush()
                    action()

        monkeypatch.setattr(Transactions, "transaction", interrupted)

    return arrange


@pytest.fixture
def reader(settings):
    with closing(KafkaLogReader(settings)) as opened:
        yield opened


@pytest.fixture
async def writer(settings):
    opened = KafkaLogWriter(settings, "here", 1 << 20)
    yield opened
    await opened.close()


async def append(writer, names):
    """Send events as a producer does that has to get them through."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        try:
            return await writer.append(arrivals(names), 10)
        except LogError:
            await asyncio.sleep(0.2)
    raise AssertionError("it is never accepted")


@pytest.mark.parametrize("seconds_away", [0, 10])
async def test_the_broker_dies_in_open_transactions(
    writer, reader, settings, broker, before_commit, seconds_away
):
    """One of the ingress and one of the driver: it is back soon, or when the clients have given up."""
    driver = KafkaOutboxWriter(settings)

    def restart():
        time.sleep(seconds_away)
        broker.start()

    restarting = Thread(target=restart)

    def kill():
        broker.kill()
        restarting.start()

    both = Barrier(2, kill)
    before_commit(both.wait)
    planning = Thread(target=lambda: [_write_until_covered(driver, end) for end in (4, 6)])
    planning.start()
    for names in ("ab", "cd", "e"):
        await append(writer, names)
    restarting.join()
    await asyncio.to_thread(planning.join)
    assert committed(settings) == rows(pairs(0, 6)), "nothing is missing, nothing is there twice"
    eventually(lambda: {each.event.id for each in read_all(reader)} == set("abcde"))
    ids = [each.event.id for each in read_all(reader)]
    assert ids.count("a") == ids.count("b"), "all of a batch or nothing"


def _write_until_covered(writer, end):
    """As the route does it: from what is covered on, again after each failure."""
    deadline = time.monotonic() + 60
    while not LogPosition.at(end) <= writer.covered():
        assert time.monotonic() < deadline
        start = writer.covered()
        try:
            writer.write(start, LogPosition.at(end), pairs(start[0], end))
        except LogError:
            time.sleep(0.1)


def test_what_was_committed_without_an_answer_is_not_planned_again(settings, monkeypatch):
    """The brokers are away when the writer asks what became of it, and then they are back."""
    writer = KafkaOutboxWriter(settings)

    @contextmanager
    def unanswered(self):
        with _WHOLE(self) as producer:
            yield producer
        raise LogUnavailable("no answer", is_certain=False)

    def away(_):
        raise BrokerUnavailable("nowhere", "no answer")

    with monkeypatch.context() as patched:
        patched.setattr(Transactions, "transaction", unanswered)
        with pytest.raises(LogUnavailable):
            writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
        patched.setattr(Transactions, "begin", away)
        with pytest.raises(BrokerUnavailable):
            writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
    assert writer.write(LogPosition(), LogPosition.at(5), pairs(0, 5)) == len(pairs(3, 5)), (
        "what lies behind it is new"
    )
    assert committed(settings) == rows(pairs(0, 5))


def test_a_timeout_that_is_longer_than_that_of_transactions(settings):
    KafkaOutboxWriter(replace(settings, timeout_seconds=70.0))


def _stand_still():
    """Longer than a transaction may last; the brokers look at that now and then."""
    time.sleep(6)


async def test_an_ingress_that_stood_still_goes_on(writer, reader, before_commit):
    before_commit(_stand_still)
    with pytest.raises(LogUnavailable, match="took too long"):
        await writer.append(arrivals("ab"), 10)
    await append(writer, "cd")
    assert {each.event.id for each in read_all(reader)} == {"c", "d"}


def test_a_driver_that_stood_still_goes_on_unless_another_has_taken_over(
    settings, before_commit, monkeypatch
):
    monkeypatch.setattr(outbox, "_LONGEST_SECONDS", 1.0)
    writer = KafkaOutboxWriter(settings)
    before_commit(_stand_still)
    with pytest.raises(LogUnavailable, match="took too long"):
        writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3))
    assert writer.write(LogPosition(), LogPosition.at(3), pairs(0, 3)) == len(pairs(0, 3))
    other = []

    def take_over():
        monkeypatch.setattr(Transactions, "transaction", _WHOLE)
        other.append(KafkaOutboxWriter(settings))

    before_commit(take_over)
    for _ in range(2):
        with pytest.raises(LogLocked):
            writer.write(LogPosition.at(3), LogPosition.at(5), pairs(3, 5))
    other[0].write(LogPosition.at(3), LogPosition.at(6), pairs(3, 6))
    assert committed(settings) == rows(pairs(0, 6))
    with closing(Coverage(settings)) as coverage:
        eventually(lambda: coverage.position() == LogPosition.at(6))
