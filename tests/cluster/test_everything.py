"""Every part of its own and real: Spark standalone, Kafka, PostgreSQL, and Headrace's roles as processes.

Under load a Spark worker, the broker and a dispatcher are killed. Whatever got a 202 is delivered, the outbox has every
pair once, and what a sink got twice is counted: delivery is at least once.
"""

import asyncio
import re
import time
from collections import Counter
from contextlib import ExitStack

import pytest
from confluent_kafka import Producer
from tests.cluster.judge import Judge
from tests.cluster.parts import Part
from tests.cluster.spark import SparkCluster

from headrace.client import Client, Sink
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.events.event import Event
from headrace.service.process import free_port

_PRODUCERS = 3
_PARTITIONS = 4
_EVERYTHING = [f"all-{number}" for number in range(6)]  # some for each dispatcher
_TOPIC, _OUTBOX = "cluster", "cluster-outbox"
_PATIENCE = 120.0


def event_of(producer: int, number: int) -> Event:
    attributes = {
        "specversion": "1.0",
        "id": f"{producer}-{number}",
        "source": f"/producers/{producer}",
        "type": "kill.odd" if number % 2 else "kill.even",
        "subject": str(number % 5),
    }
    return Event(attributes, b"%d" % number)


class Load:
    """Producers without a pause, and the ledger of what was accepted and what a sink got."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._stop = asyncio.Event()
        self.accepted: set[str] = set()
        self.refused: Counter[str] = Counter()
        self.arrived: dict[str, Counter[str]] = {name: Counter() for name in [*_EVERYTHING, "odd"]}

    def received(self, delivery) -> None:
        self.arrived[delivery.path.strip("/")][delivery.event.id] += 1

    async def produce(self, producer: int) -> None:
        """Single events and batches; an event counts when its 202 came."""
        number = 0
        async with Client(self._url, timeout_seconds=20) as client:
            while not self._stop.is_set():
                batch = [event_of(producer, number + n) for n in range(1 if number % 3 else 4)]
                number += len(batch)
                try:
                    await (client.publish(batch[0]) if len(batch) == 1 else client.publish_batch(batch))
                except (ServiceUnreachable, ServiceRefused) as error:
                    self.refused[str(error)] += len(batch)
                    await asyncio.sleep(0.1)
                else:
                    self.accepted |= {event.id for event in batch}
                    await asyncio.sleep(0.05)

    def stop(self) -> None:
        self._stop.set()

    def missing(self, accepted: set[str]) -> list[tuple[str, str]]:
        odd = {each for each in accepted if int(each.split("-")[1]) % 2}
        wanted = dict.fromkeys(_EVERYTHING, accepted) | {"odd": odd}
        return [(name, each) for name, ids in wanted.items() for each in ids - self.arrived[name].keys()]

    async def goes_on(self, events: int) -> None:
        """Wait until so many more are accepted, and these have arrived everywhere."""
        deadline, wanted = time.monotonic() + _PATIENCE, len(self.accepted) + events
        while len(self.accepted) < wanted:
            assert time.monotonic() < deadline, f"nothing is accepted: {self.refused}"
            await asyncio.sleep(0.1)
        await self.arrive(set(self.accepted), deadline - time.monotonic())

    async def arrive(self, accepted: set[str], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while missing := self.missing(accepted):
            assert time.monotonic() < deadline, f"{len(missing)} are missing: {sorted(missing)[:9]}"
            await asyncio.sleep(0.1)


@pytest.fixture
def deployment(tmp_path, broker, postgres):
    """All parts, started at once: the order doesn't matter to them."""
    folder, ports = tmp_path, {"ingress": free_port(), "api": free_port()}
    (folder / "spark").mkdir()
    spark = SparkCluster(folder / "spark")
    with ExitStack() as stack:
        url = stack.enter_context(postgres.new_url())
        stack.callback(spark.stop)
        spark.start("one", "other")
        settings = {
            "LOG_KIND": "kafka",
            "KAFKA_BOOTSTRAP": broker.bootstrap,
            "KAFKA_TOPICS": f'["{_TOPIC}"]',
            "KAFKA_OUTBOX": _OUTBOX,
            "KAFKA_PARTITIONS": str(_PARTITIONS),
            "STORE_URL": url,
            "DELIVERY_URL": url,
            "DELIVERY_BACKOFF_SECONDS": "0.1",
            "PIPELINE_DRIVER_HOST": "127.0.0.1",
            "PIPELINE_EXECUTOR_MEMORY": "512m",
            "PIPELINE_EXECUTOR_CORES": "1",
            "PIPELINE_NODE_CACHE": str(folder / "node"),
            "PIPELINE_ROSTERS": str(folder / "rosters"),
            "PIPELINE_RESTART_SECONDS": "0.1",
            "PIPELINE_MIN_EVENTS_PER_TASK": "10",
            "ARCHIVE_ENABLED": "false",
        }
        parts = [Part(folder, "pipeline", "pipeline", "--master", spark.master)]
        parts += [
            Part(folder, name, "up", "--role", name, "--port", str(port)) for name, port in ports.items()
        ]
        parts += [
            Part(folder, name, "up", "--role", "dispatcher") for name in ("dispatcher-one", "dispatcher-two")
        ]
        for part in parts:
            stack.callback(part.kill)
            part.start(settings)
        for part in parts:
            part.wait_until_ready()
        addresses = {name: f"http://127.0.0.1:{port}" for name, port in ports.items()}
        yield spark, {part.name: part for part in parts}, addresses


def shares_of(dispatcher: Part) -> set[int]:
    """What it said last about the shares that it has."""
    said = re.findall(r"this dispatcher has shares \[([0-9, ]*)\]", dispatcher.said())
    return {int(each) for each in said[-1].split(",") if each.strip()} if said else set()


def write_by_hand(bootstrap: str, event: Event) -> None:
    """A program that knows Kafka and CloudEvents, and nothing of Headrace; and one that knows less."""
    producer = Producer({"bootstrap.servers": bootstrap})
    headers = [("ce_" + name, str(value)) for name, value in event.attributes.items()]
    producer.produce(_TOPIC, b"from elsewhere", headers=headers)
    producer.produce(_TOPIC, b"no event at all")
    producer.flush()


@pytest.mark.timeout(600)
async def test_a_worker_the_broker_and_a_dispatcher_are_killed_under_load(deployment, broker, capsys):
    spark, parts, addresses = deployment
    (application,) = spark.state()["activeapps"]
    assert application["cores"] == 2, "one executor on each worker"
    dispatchers = [parts["dispatcher-one"], parts["dispatcher-two"]]
    for each in dispatchers:
        each.wait(lambda each=each: len(shares_of(each)) == _PARTITIONS // 2)
    load = Load(addresses["ingress"])
    with Judge(broker.bootstrap, _OUTBOX, _PARTITIONS) as judge:
        async with Sink(load.received) as sink:
            async with Client(addresses["api"]) as client:
                for name in _EVERYTHING:
                    await client.subscribe({"sink": f"{sink.url}/{name}", "protocol": "HTTP"})
                odd = [{"suffix": {"type": ".odd"}}]
                await client.subscribe({"sink": f"{sink.url}/odd", "protocol": "HTTP", "filters": odd})
            producers = [asyncio.create_task(load.produce(each)) for each in range(_PRODUCERS)]
            await load.goes_on(100)
            spark.kill("one")
            await load.goes_on(100)
            broker.kill()
            await asyncio.sleep(1)
            await asyncio.to_thread(broker.start)
            await load.goes_on(100)
            dispatchers[0].kill()
            await asyncio.to_thread(
                dispatchers[1].wait, lambda: len(shares_of(dispatchers[1])) == _PARTITIONS
            )
            await asyncio.to_thread(write_by_hand, broker.bootstrap, event_of(9, 1))
            load.accepted.add("9-1")
            await load.goes_on(50)
            load.stop()
            await asyncio.gather(*producers)
            await load.arrive(load.accepted, _PATIENCE)
    repeated = sum(each.total() - len(each) for each in load.arrived.values())
    planned, doubled = judge.pairs, judge.pairs.total() - len(judge.pairs)
    with capsys.disabled():
        print(  # noqa: T201  the figures are part of what this test shows
            f"\nworker, broker and dispatcher killed: {len(load.accepted)} accepted, {load.refused.total()} refused, "
            f"0 lost, {len(planned)} planned, {doubled} of them twice, {repeated} deliveries repeated"
        )
    assert judge.missed == []
    assert doubled == 0
    everywhere = sum(map(len, load.arrived.values()))
    assert len(planned) >= everywhere, "what arrived was planned"
