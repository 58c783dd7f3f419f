"""Writers are killed inside a transaction, with the broker or without it: how long does that hold up the readers?

A reader of committed records sees nothing behind an open transaction. Whoever begins under its name ends it at once; else
the brokers do, some time after the transaction's longest time.
"""

import asyncio
import os
import signal
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import replace

import msgspec
import pytest
from tests.eventlog.arrivals import arrival
from tests.eventlog.kafka.conftest import eventually
from tests.eventlog.kafka.outbox.test_writer import Member, committed, drain, pairs, rows
from tests.eventlog.kafka.test_log import read_all

from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.eventlog.kafka.transactions import Transactions
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.events.positions import LogPosition

_TIMEOUT = 4.0
# The test's broker looks every half second; the rest is for a busy machine.
_SLACK = 8.0
_DYING = """
import asyncio, sys, time
import confluent_kafka, msgspec
from tests.eventlog.arrivals import arrivals
from tests.eventlog.kafka.outbox.test_writer import pairs
from headrace.eventlog.kafka import writer
from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter
from headrace.eventlog.kafka.settings import KafkaSettings
from headrace.events.positions import LogPosition

role, settings = sys.argv[1:]
settings = msgspec.json.decode(settings, type=KafkaSettings)


class Producer(confluent_kafka.Producer):
    def commit_transaction(self, timeout):
        self.flush()
        if is_dying:
            print("open", flush=True)
            time.sleep(600)
        super().commit_transaction(timeout)


confluent_kafka.Producer = Producer
is_dying = role == "ingress"
if role == "driver":
    opened = KafkaOutboxWriter(settings)
    opened.write(LogPosition(), LogPosition.at(2), pairs(0, 2))
    is_dying = True
    opened.write(LogPosition.at(2), LogPosition.at(4), pairs(2, 4))


async def append():
    await writer.KafkaLogWriter(settings, "here", 1 << 20).append(arrivals("xyz"), 10)


asyncio.run(append())
"""


@pytest.fixture
def settings(settings):
    return replace(settings, timeout_seconds=_TIMEOUT)


@contextmanager
def in_a_transaction(role: str, settings: KafkaSettings):
    """A process of its own that is killed when the brokers have its records, and nobody has committed them."""
    process = subprocess.Popen(
        [sys.executable, "-c", _DYING, role, msgspec.json.encode(settings).decode()],
        stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == b"open\n"
        yield
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.communicate()


def ids(reader):
    return {each.event.id for each in read_all(reader)}


@pytest.mark.parametrize("name", ["here", "elsewhere"])
async def test_an_ingress_is_killed(settings, name):
    """It comes back under its name, or another one has its place: events that came behind it are seen soon."""
    writer = KafkaLogWriter(settings, "elsewhere", 1 << 20)
    with closing(KafkaLogReader(settings)) as reader:
        with in_a_transaction("ingress", settings):
            for number in range(8):
                await writer.append([arrival(str(number))], 10)
            assert not ids(reader) >= set("01234567"), "some are behind the open transaction"
        began = time.monotonic()
        back = KafkaLogWriter(settings, name, 1 << 20)
        await asyncio.to_thread(eventually, lambda: ids(reader) == {*"01234567"}, _TIMEOUT + _SLACK)
        if name == "here":
            assert time.monotonic() - began < _TIMEOUT, "it didn't have to wait for the brokers"
    await writer.close()
    await back.close()


async def test_an_ingress_is_killed_with_the_broker(settings, broker):
    """What a broker finds in its log it ends as it would have: after the time that is left, or at once."""
    writer = KafkaLogWriter(settings, "elsewhere", 1 << 20)
    with closing(KafkaLogReader(settings)) as reader:
        with in_a_transaction("ingress", settings):
            for number in range(8):
                await writer.append([arrival(str(number))], 10)
            broker.kill()
        await asyncio.to_thread(broker.start)

        def is_seen():
            try:
                return ids(reader) == {*"01234567"}
            except BrokerUnavailable:
                return False  # it has just come back

        await asyncio.to_thread(eventually, is_seen, _TIMEOUT + _SLACK)
    await writer.close()


@pytest.mark.parametrize("with_broker", [False, True])
def test_a_driver_is_killed(settings, broker, with_broker):
    """The next one ends what it left, and dispatchers read on; nothing is planned twice."""
    member = Member(settings)
    try:
        with in_a_transaction("driver", settings):
            if with_broker:
                broker.kill()
        if with_broker:
            broker.start()
        began = time.monotonic()
        driver = _opened(settings)
        assert driver.covered() == LogPosition.at(2)
        driver.write(LogPosition.at(2), LogPosition.at(5), pairs(2, 5))
        eventually(lambda: member.own == {0, 1})
        assert drain(member.reader(), LogPosition.at(5)) == rows(pairs(0, 5))
        assert time.monotonic() - began < 60, "its transactions may last longer than that"
        assert committed(settings) == rows(pairs(0, 5))
    finally:
        member.group.close()


def _opened(settings):
    """As the supervisor does it: a role that finds no broker is started again."""
    deadline = time.monotonic() + 30
    while True:
        try:
            return KafkaOutboxWriter(settings)
        except BrokerUnavailable:
            assert time.monotonic() < deadline
            time.sleep(0.1)


def test_a_client_that_could_not_begin_fences_nobody_off(settings, broker):
    """It would go on trying for as long as it lives, and an error keeps what stands in its traceback alive."""
    given_up = Transactions(replace(settings, timeout_seconds=0.5), "both", _TIMEOUT)
    broker.kill()
    with pytest.raises(BrokerUnavailable) as kept:
        given_up.begin()
    broker.start()
    following = Transactions(settings, "both", _TIMEOUT)
    eventually(lambda: _begun(following))
    time.sleep(2.0)  # the other one, were it there, would have found the broker by now
    with following.transaction() as producer:
        producer.produce(settings.outbox, b"x", partition=0)
    assert kept.value is not None


def _begun(transactions):
    try:
        transactions.begin()
    except BrokerUnavailable:
        return False
    return True
