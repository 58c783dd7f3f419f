"""Every part of its own and real: Spark standalone, Kafka, PostgreSQL, and Headrace's roles as processes.

Under load a Spark worker, the broker and a dispatcher are killed; in the end the past is asked on what is left. Whatever got a 202 is delivered, the outbox has every
pair once, and what a sink got twice is counted: delivery is at least once.
"""

import asyncio
import re
from contextlib import ExitStack
from functools import partial
from typing import NamedTuple

import pytest
from confluent_kafka import Producer
from tests.broker import Broker
from tests.cluster.findings import findings, telling
from tests.cluster.judge import Judge
from tests.cluster.load import Load, event_of
from tests.cluster.parts import Part
from tests.cluster.spark import SparkCluster

from headrace.client import Client, Sink
from headrace.events.event import Event
from headrace.service.processes.service import free_port

_PARTITIONS = 4
_EVERYTHING = [f"all-{number}" for number in range(6)]  # some for each dispatcher
_TOPIC, _OUTBOX = "cluster", "cluster-outbox"


class Deployment(NamedTuple):
    spark: SparkCluster
    parts: dict[str, Part]
    addresses: dict[str, str]
    url: str

    def findings(self, broker: Broker) -> str:
        return findings(broker, [_TOPIC, _OUTBOX], self.url, self.parts.values(), self.spark)


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
            "ARCHIVE_PATH": str(folder / "archive"),
            "ARCHIVE_INTERVAL_SECONDS": "5",
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
        yield Deployment(spark, {part.name: part for part in parts}, addresses, url)


def _has_shares(dispatcher: Part, count: int) -> bool:
    """By what it said last about the shares that it has."""
    said = re.findall(r"this dispatcher has partitions \[([0-9, ]*)\]", dispatcher.said())
    return bool(said) and len(said[-1].split(",")) == count


def write_by_hand(bootstrap: str, event: Event) -> None:
    """A program that knows Kafka and CloudEvents, and nothing of Headrace; and one that knows less."""
    producer = Producer({"bootstrap.servers": bootstrap})
    headers = [("ce_" + name, str(value)) for name, value in event.attributes.items()]
    producer.produce(_TOPIC, b"from elsewhere", headers=headers)
    producer.produce(_TOPIC, b"no event at all")
    producer.flush()


async def the_past_is_asked_on_the_cluster(client: Client, accepted: set[str]) -> None:
    """Archive and log together, by the executor that is left. A 503 doesn't say that an event wasn't stored."""
    found = await client.finished(await client.backtest({"suffix": {"type": ".odd"}}, examples=100))
    odd = {each for each in accepted if int(each.split("-")[1]) % 2}
    assert found["matched"] >= len(odd)
    assert found["events"] >= len(accepted)
    assert {each["event"]["type"] for each in found["examples"]} == {"kill.odd"}


@pytest.mark.timeout(1200)
async def test_a_worker_the_broker_and_a_dispatcher_are_killed_under_load(deployment, broker, capsys):
    (application,) = deployment.spark.state()["activeapps"]
    assert application["cores"] == 2, "one executor on each worker"
    load = Load(deployment.addresses["ingress"], _EVERYTHING)
    with (
        telling(lambda: deployment.findings(broker)),
        Judge(broker.bootstrap, _OUTBOX, _PARTITIONS) as judge,
    ):
        async with Sink(load.received) as sink, Client(deployment.addresses["api"]) as client:
            await load.subscribe(client, sink.url)
            await _kill_under(load, deployment, broker)
            (aside,) = await client.set_aside()
            await the_past_is_asked_on_the_cluster(client, load.accepted)
    with capsys.disabled():
        print(  # noqa: T201  the figures are part of what this test shows
            f"\nworker, broker and dispatcher killed: {load.figures()}, {judge.figures()}"
        )
    judge.check(load)
    assert "is no event" in aside["reason"]


async def _kill_under(load: Load, deployment: Deployment, broker: Broker) -> None:
    dispatchers = [deployment.parts["dispatcher-one"], deployment.parts["dispatcher-two"]]
    for each in dispatchers:
        each.wait(partial(_has_shares, each, _PARTITIONS // 2))
    load.start()
    await load.goes_on(100)
    deployment.spark.kill("one")
    await load.goes_on(100)
    broker.kill()
    await asyncio.sleep(1)
    await asyncio.to_thread(broker.start)
    await load.goes_on(100)
    dispatchers[0].kill()
    await asyncio.to_thread(dispatchers[1].wait, partial(_has_shares, dispatchers[1], _PARTITIONS))
    await asyncio.to_thread(write_by_hand, broker.bootstrap, event_of(9, 1))
    load.accepted.add("9-1")
    await load.goes_on(50)
    await load.finish()
