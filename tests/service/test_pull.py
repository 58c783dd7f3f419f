"""Pulling as users see it, on one real service: seeks, kills between delivery and acknowledgement, and a slow consumer."""

import asyncio
import os
import resource
import signal
import time
from collections import Counter
from contextlib import suppress

import pytest
from click.testing import CliRunner

from headrace.cli.main import main
from headrace.client import Client
from headrace.errors import ServiceRefused, ServiceUnreachable
from headrace.events.event import Event
from headrace.filters import message
from headrace.service.processes.process_table import role_processes
from headrace.service.processes.service import ServiceProcess, free_port

_PATIENCE = 240
_MANY = 100_000


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pull")
    made = ServiceProcess(folder / "data", free_port(), folder / "service.log")
    made.start()
    try:
        asyncio.run(made.wait_until_ready(_PATIENCE))
        yield made
    finally:
        made.kill()


@pytest.fixture
async def client(service):
    async with Client(service.url) as client:
        yield client


def event(number: int, **attributes: str) -> Event:
    required = {"specversion": "1.0", "id": str(number), "source": "/s", "type": "t", "row": str(number)}
    return Event(required | attributes, b'{"amount": %d}' % number)


async def channel(client, name):
    await client.create_channel("pull", name)
    return f"pull/{name}"


async def subscribe(client, to, **properties):
    config = {"channel": to, **properties.pop("config", {})}
    return (await client.subscribe({"protocol": "PULL", "config": config, **properties}))["id"]


async def pulled(client, subscription, count, seconds=60.0):
    """Pull so many events with a consumer of their own, and acknowledge them."""
    seen = []
    async with asyncio.timeout(seconds), client.events(subscription) as events:
        async for each in events:
            seen.append(int(each.id))
            if len(seen) == count:
                await events.acknowledge()
                break
    return seen


async def test_what_matches_is_pulled_and_nothing_else(client):
    orders = await channel(client, "orders")
    subscription = await subscribe(client, orders, filters=[{"cel": "data.amount >= 5"}])
    await client.publish_batch([event(number) for number in range(10)], orders)
    assert await pulled(client, subscription, 5) == [5, 6, 7, 8, 9]
    assert await client.pull(subscription) == []


async def test_an_iteration_seeks_and_goes_on_from_there(client):
    rows = await channel(client, "rows")
    await client.publish_batch([event(number) for number in range(40)], rows)
    subscription = await subscribe(client, rows, config={"start": "earliest"})
    async with asyncio.timeout(120), client.events(subscription, max_events=10) as events:
        assert [int((await anext(events)).id) for _ in range(15)] == list(range(15))
        found = await events.seek(message.property("row").equals("3"))
        assert (found["found"], found["event"]["id"]) == (True, "3")
        assert [int((await anext(events)).id) for _ in range(37)] == list(range(3, 40))
        await events.seek(message.property("row").equals("38"))
        await client.publish(event(40), rows)
        again = {int((await anext(events)).id) for _ in range(3)}
        assert again == {38, 39, 40}  # what is new may come before what is old
        await events.acknowledge()
    await client.replay(subscription, {"filter": {"exact": {"row": "39"}}})
    assert sorted(await pulled(client, subscription, 2)) == [39, 40]


@pytest.mark.parametrize("role", ["http", "dispatcher"])
async def test_a_kill_between_delivery_and_acknowledgement_loses_nothing(service, client, role):
    name = await channel(client, f"killed-{role}")
    subscription = await subscribe(client, name, protocolsettings={"lease": 3})
    seen: Counter[int] = Counter()
    done = asyncio.Event()

    async def consume():
        async with client.events(subscription, max_events=7) as events:
            async for each in events:
                seen[int(each.id)] += 1
                await asyncio.sleep(0.005)
                if len(seen) == 120:
                    done.set()

    consuming = asyncio.create_task(consume())
    for start in range(0, 120, 20):
        batch = [event(number) for number in range(start, start + 20)]
        await accepted(client, batch, name)
        if start % 40 == 0:
            async with asyncio.timeout(60):
                while len(seen) < start // 2 + 3:
                    await asyncio.sleep(0.01)
            await kill(service, role)
    async with asyncio.timeout(90):
        await done.wait()
    consuming.cancel()
    with suppress(asyncio.CancelledError):
        await consuming
    assert sorted(seen) == list(range(120))


async def kill(service, role):
    """Kill a role as soon as it is there: it may be just coming back from the last time."""
    async with asyncio.timeout(60):
        while not (processes := role_processes(service.pid, role)):
            await asyncio.sleep(0.05)
    for process in processes:
        os.kill(process, signal.SIGKILL)


async def accepted(client, batch, name):
    """Publish until there is a 202; a request that was cut off may have been stored, and is sent again."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return await client.publish_batch(batch, name)
        except (ServiceUnreachable, ServiceRefused):
            assert time.monotonic() < deadline
            await asyncio.sleep(0.1)


async def test_a_slow_consumer_costs_rows_and_no_memory(service, client, record_property):
    """A hundred thousand events wait; a consumer that holds few of them makes nobody grow."""
    name = await channel(client, "slow")
    subscription = await subscribe(client, name, protocolsettings={"expired": "drop"})
    roles = [process for role in ("http", "dispatcher") for process in role_processes(service.pid, role)]
    before = [resident(process) for process in roles]
    for start in range(0, _MANY, 2000):
        await client.publish_batch([event(number) for number in range(start, start + 2000)], name)
    async with asyncio.timeout(120):
        while (await mailbox(client, subscription)).get("waiting", 0) < _MANY:
            await asyncio.sleep(0.2)
    async with client.events(subscription, max_events=100) as events:
        assert [int((await anext(events)).id) for _ in range(250)] == list(range(250))
        assert (await mailbox(client, subscription))["held"] <= 100
    grown = [resident(process) - was for process, was in zip(roles, before, strict=True)]
    record_property("grown", grown)
    assert max(grown) < 150 << 20, grown
    await client.unsubscribe(subscription)


async def mailbox(client, subscription):
    shown = await client.subscription(subscription)
    return shown.get("status", {}).get("delivery", {}).get("pull", {})


def resident(process: int) -> int:
    """Return how many bytes of memory a process has."""
    with open(f"/proc/{process}/statm") as file:  # noqa: PTH123  no file that lasts
        return int(file.read().split()[1]) * resource.getpagesize()


def test_tail_prints_what_comes_and_leaves_nothing(service):
    def run(*arguments: str) -> str:
        result = CliRunner().invoke(main, [*arguments, "--url", service.url])
        assert result.exit_code == 0, result.output
        return result.stdout

    run("publish", "--type", "com.example.tail", "--data", '{"amount": 7}')
    subscription = run(
        "subscribe", "--pull", "--exact", "type=com.example.tail", "--from", "earliest"
    ).strip()
    by_wish = run("tail", "--from", "earliest", "--exact", "type=com.example.tail", "--count", "1")
    assert "type=com.example.tail" in by_wish
    assert '{"amount": 7}' in by_wish
    assert '"data":{"amount": 7}' in run("tail", "--subscription", subscription, "--count", "1", "--json")
    listed = run("get", "subscriptions", "--json")
    assert listed.count("com.example.tail") == 1  # the one of the command is gone
    run("delete", subscription)
