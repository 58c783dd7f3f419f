"""Deliveries that wait survive a backup that is put back, and a ledger that has to be rebuilt.

The service is `headrace up` with all of its roles; only Spark is replaced, by a thread that runs the same query.
"""

import asyncio
import os
import re
import sqlite3
from collections import defaultdict
from contextlib import closing

import pytest
from tests.chaos.service_run import SETTINGS, WITHOUT_SPARK, command

from headrace.client import Client
from headrace.client.sink import Sink
from headrace.events.event import Event
from headrace.service.processes.service import ServiceProcess, free_port

_EVENTS = [str(number) for number in range(12)]
_WAIT = {"config": {"delivery": {"retry": 1000, "backoffDelay": "PT0.2S", "backoffPolicy": "linear"}}}
_PATIENCE = 240.0


class Consumers:
    """One takes everything at once, one refuses until it is told not to, one is paused, one pulls.

    The paused one refuses as well: a dispatcher learns of the pause a moment after it was asked for.
    """

    def __init__(self):
        self.url = ""
        self.refuses = True
        self.arrived = defaultdict(set)
        self.ids = {}

    def received(self, delivery):
        name = delivery.path.strip("/")
        if name != "prompt" and self.refuses:
            return 503
        self.arrived[name].add(delivery.event.id)
        return 200

    async def subscribe(self, client, sink):
        for name in ("prompt", "refusing", "paused"):
            made = await client.subscribe({"sink": f"{sink}/{name}", "protocol": "HTTP", **_WAIT})
            self.ids[name] = made["id"]
        self.ids["pulling"] = (await client.subscribe({"protocol": "PULL"}))["id"]
        await client.pause(self.ids["paused"])

    async def take(self, client):
        """Take what is there now, without acknowledging anything."""
        pulled = await client.pull(self.ids["pulling"], max_events=100)
        self.arrived["pulling"] |= {each.event.id for each in pulled}

    def has_all(self, *names):
        return all(self.arrived[name] >= set(_EVENTS) for name in names)


@pytest.fixture
async def consumers():
    made = Consumers()
    async with Sink(made.received) as sink:
        made.url = sink.url
        yield made


@pytest.fixture
def start(tmp_path, monkeypatch):
    """Start services, and end what is left of them."""
    monkeypatch.setenv("PYTHONPATH", WITHOUT_SPARK)
    made: list[ServiceProcess] = []

    def begin(data):
        service = ServiceProcess(data, free_port(), tmp_path / f"{len(made)}.log", SETTINGS)
        made.append(service)
        service.start()
        return service

    yield begin
    for each in made:
        if each.is_running:
            each.kill()


async def until(holds):
    async with asyncio.timeout(_PATIENCE):
        while not await holds():
            await asyncio.sleep(0.1)


def waiting_in(data):
    with closing(sqlite3.connect(f"file:{data / 'delivery.db'}?mode=ro", uri=True)) as ledger:
        return ledger.execute("SELECT count(*) FROM waiting").fetchone()[0]


async def with_waiting_deliveries(service, consumers, data):
    """Publish, and wait until one has everything and the ledger holds what the others are owed."""
    await service.wait_until_ready(_PATIENCE)
    async with Client(service.url) as client:
        await consumers.subscribe(client, consumers.url)
        for each in _EVENTS:
            await client.publish(
                Event({"specversion": "1.0", "id": each, "source": "/s", "type": "t"}, b"{}")
            )

        async def is_so():
            return consumers.has_all("prompt") and waiting_in(data) >= len(_EVENTS)

        await until(is_so)


async def all_is_delivered(service, consumers):
    consumers.refuses = False
    await service.wait_until_ready(_PATIENCE)
    async with Client(service.url) as client:
        await client.resume(consumers.ids["paused"])

        async def is_so():
            await consumers.take(client)
            return consumers.has_all("refusing", "paused", "pulling")

        await until(is_so)


async def test_what_waited_when_a_backup_was_made_is_delivered_from_it(start, consumers, tmp_path):
    data, backup, restored = (tmp_path / name for name in ("data", "backup", "restored"))
    service = start(data)
    await with_waiting_deliveries(service, consumers, data)
    made = command(data, "backup", str(backup))
    assert made.returncode == 0, made.stderr
    service.kill()
    assert not consumers.arrived["refusing"] | consumers.arrived["paused"] | consumers.arrived["pulling"]
    put = command(restored, "restore", "--from", str(backup))
    assert put.returncode == 0, put.stderr
    service = start(restored)
    await all_is_delivered(service, consumers)
    assert service.stop() == 0


def halve(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("damage", [halve, os.unlink], ids=["halved", "removed"])
async def test_a_damaged_ledger_is_rebuilt_as_the_refusal_says_and_what_waited_is_delivered(
    start, consumers, tmp_path, damage
):
    data = tmp_path / "data"
    service = start(data)
    await with_waiting_deliveries(service, consumers, data)
    assert service.stop() == 0
    damage(data / "delivery.db")
    refused = start(data)
    async with asyncio.timeout(_PATIENCE):
        while refused.is_running:
            await asyncio.sleep(0.1)
    said = " ".join(refused.tail().split())
    assert f"the database {data / 'delivery.db'} can't be used" in said
    assert "Traceback" not in said
    advice = re.search(r"`headrace (restore --rebuild ledger)`", said)
    assert advice, said
    done = command(data, *advice[1].split())
    assert done.returncode == 0, done.stderr
    assert not consumers.arrived["refusing"] | consumers.arrived["paused"] | consumers.arrived["pulling"]
    service = start(data)
    await all_is_delivered(service, consumers)
    assert service.stop() == 0
