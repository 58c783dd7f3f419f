"""The dispatcher on a log and an outbox in Kafka, in this process: brokers go away, and remove what nobody has got yet."""

import asyncio
import threading
import uuid
from collections import Counter
from contextlib import asynccontextmanager, contextmanager

import pyarrow as pa
import pytest
from tests.delivery.harness import QUICK
from tests.eventlog.arrivals import arrival
from tests.eventlog.kafka.test_archive import remove
from tests.opening import opening

from headrace.client import Sink
from headrace.config import load_config
from headrace.database.work_queue import State
from headrace.errors import BrokerUnavailable
from headrace.eventlog.kafka.outbox.writer import KafkaOutboxWriter
from headrace.eventlog.kafka.reader import KafkaLogReader
from headrace.eventlog.kafka.topics import ensure_topics
from headrace.eventlog.kafka.writer import KafkaLogWriter
from headrace.eventlog.location import open_log
from headrace.events.positions import LogPosition
from headrace.ledger.records.dead_letters import DeadQuery
from headrace.ledger.records.records import Records
from headrace.ledger.redrives.redrive import Delivered, Redrive, RedriveRequest
from headrace.service.upkeep import dispatcher as draining
from headrace.service.upkeep.dispatcher import drain_shares
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription


@pytest.fixture
def config(tmp_path, broker):
    name = uuid.uuid4().hex[:8]
    overrides = {f"delivery.{key}": value for key, value in QUICK.items()} | {
        "data": str(tmp_path),
        "log.kind": "kafka",
        "kafka.bootstrap": broker.bootstrap,
        "kafka.topics": [f"drained-{name}"],
        "kafka.outbox": f"drained-outbox-{name}",
        "kafka.partitions": 1,
        "kafka.timeout_seconds": 5.0,
    }
    made = load_config(None, overrides, {})
    ensure_topics(made.kafka)
    return made


@pytest.fixture
def store(config):
    with opening(Store, config.store.url) as opened:
        yield opened


class Route:
    """What the ingress and the driver do: every event is planned for the one subscription."""

    def __init__(self, config, subscription):
        self._writer = KafkaLogWriter(config.kafka, "here", 1 << 20)
        self._outbox = KafkaOutboxWriter(config.kafka)
        self.subscription = subscription

    async def accept(self, names):
        return [await self._writer.append([arrival(name)], 10) for name in names]

    async def plan(self, positions):
        pairs = pa.table({"position": positions, "subscription": [self.subscription] * len(positions)})
        covered = self._outbox.covered()
        await asyncio.to_thread(
            self._outbox.write, covered, covered.join(LogPosition.at(positions[-1] + 1)), pairs
        )

    async def close(self):
        await self._writer.close()


@asynccontextmanager
async def dispatching(config):
    """Yield the dispatcher's task, and what stops it."""
    stop, ready = asyncio.Event(), asyncio.Event()
    task = asyncio.create_task(drain_shares(config, stop, ready.set))
    try:
        await ready.wait()
        yield task, stop
    finally:
        stop.set()
        await task


@asynccontextmanager
async def delivering(config, store):
    """A sink with its subscription; yields the route to it, the dispatcher, and what arrived."""
    arrived: Counter[str] = Counter()
    async with Sink(lambda received: arrived.update([received.event.id])) as sink:
        proposal = parse_subscription({"sink": sink.url, "protocol": "HTTP"})
        route = Route(config, store.create(proposal, LogPosition).id)
        async with dispatching(config) as dispatcher:
            yield route, dispatcher, arrived
        await route.close()


async def eventually(holds, seconds=60.0):
    async with asyncio.timeout(seconds):
        while not holds():
            await asyncio.sleep(0.02)


async def test_a_dispatcher_waits_for_brokers_that_are_away(config, store, broker, monkeypatch):
    """It has what is planned, and can't read the events: longer than a broker may take to answer."""
    read, asked = KafkaLogReader.read, []

    def counted(self, *arguments):
        asked.append(arguments)
        return read(self, *arguments)

    async with delivering(config, store) as (route, (task, _), arrived):
        await route.plan(await route.accept("ab"))
        await eventually(lambda: set(arrived) == set("ab"))
        monkeypatch.setattr(KafkaLogReader, "read", counted)
        positions = await route.accept("cd")
        with _refusing_fetches(monkeypatch):
            await route.plan(positions)
            await eventually(lambda: asked)
            broker.kill()
        await eventually(lambda: len(asked) > 1)
        assert not task.done()
        await asyncio.to_thread(broker.start)
        await eventually(lambda: set(arrived) == set("abcd"))
        assert not task.done()
    assert set(arrived.values()) == {1}


@contextmanager
def _refusing_fetches(monkeypatch):
    """Let the first reading fail, as it does where the broker dies right then."""
    with monkeypatch.context() as patched:

        def fail(*_):
            raise BrokerUnavailable("nowhere", "it has just died")

        patched.setattr("headrace.eventlog.kafka.reader._PartitionReader.read", fail)
        yield


async def test_a_dispatcher_stops_while_the_brokers_are_away(config, store, monkeypatch):
    async with delivering(config, store) as (route, (task, stop), arrived):
        positions = await route.accept("ab")
        with _refusing_fetches(monkeypatch):
            await route.plan(positions)
            await asyncio.sleep(1)
            assert not task.done()
            stop.set()
            async with asyncio.timeout(20):
                await task
        assert not arrived
        async with dispatching(config):
            await eventually(lambda: set(arrived) == set("ab"))


async def test_a_redrive_waits_for_brokers_that_are_away(config, store, monkeypatch):
    async with delivering(config, store) as (route, _, arrived):
        (position,) = await route.accept("a")
        await route.plan([position])
        await eventually(lambda: arrived["a"] == 1)
        with opening(Records, config.delivery.url) as records:
            with _refusing_fetches(monkeypatch):
                again = Redrive(RedriveRequest(), 1, Delivered(route.subscription, position))
                records.redrives.add(again)
                await asyncio.sleep(1)
                assert records.redrives.get(again.id).state is State.RUNNING
            await eventually(lambda: arrived["a"] == 2)


async def test_events_that_kafka_removed_hold_up_nobody(config, store):
    """Its retention knows nothing of deliveries: what is gone is a dead letter that says so, and the others arrive."""
    async with delivering(config, store) as (route, _, arrived):
        positions = await route.accept("abcd")
        await asyncio.to_thread(remove, config.kafka, positions[2])
        await route.plan(positions)
        await eventually(lambda: set(arrived) == set("cd"))
        with opening(Records, config.delivery.url) as records:
            await eventually(lambda: len(_dead(records)) == 2)
            assert {each.position for each in _dead(records)} == set(positions[:2])


class OneAtATime:
    """A reader that notices when a second thread uses it meanwhile; each use takes a while, so that one would."""

    def __init__(self, reader, clashes):
        self._reader = reader
        self._clashes = clashes
        self._lock = threading.Lock()

    def __getattr__(self, name):
        value = getattr(self._reader, name)
        if not callable(value):
            return value

        def call(*arguments):
            with self._alone(name):
                found = value(*arguments)
                return list(found) if name == "read" else found

        return call

    @contextmanager
    def _alone(self, name):
        if not self._lock.acquire(blocking=False):
            self._clashes.append(name)
            raise AssertionError(f"{name} while another thread uses this reader")
        try:
            threading.Event().wait(0.05)
            yield
        finally:
            self._lock.release()


async def test_nobody_shares_a_reader_of_the_log(config, store, monkeypatch):
    """Deliveries, their redrives and what clears up read the log at the same time: a reader is for one thread."""
    clashes: list[str] = []
    monkeypatch.setattr(draining, "open_log", lambda place: OneAtATime(open_log(place), clashes))
    async with delivering(config, store) as (route, _, arrived):
        positions = await route.accept([f"first-{number}" for number in range(20)])
        await route.plan(positions)
        await eventually(lambda: len(arrived) == 20)
        with opening(Records, config.delivery.url) as records:
            for number, position in enumerate(positions):
                records.redrives.add(Redrive(RedriveRequest(), 1, Delivered(route.subscription, position)))
                await route.plan(await route.accept([f"second-{number}"]))
        await eventually(lambda: arrived.total() == 60)
    assert clashes == []


def _dead(records):
    return records.dead_letters(DeadQuery())
