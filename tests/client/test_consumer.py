"""Pulling from a program: what is acknowledged when, and what comes again."""

import asyncio
import gc
from contextlib import closing

import pytest
from tests.api.application import Application
from tests.api.consumers import Consumers, subscribe

from headrace.client import Client, consumer
from headrace.errors import ServiceRefused
from headrace.events.positions import LogPosition


@pytest.fixture
async def api(tmp_path):
    api = Application(tmp_path)
    yield api
    await api.close()


@pytest.fixture
async def mailbox(api):
    with closing(Consumers(api, await subscribe(api))) as made:
        yield made


@pytest.fixture
async def client(api):
    async with api.served() as url:
        async with Client(url) as client:
            yield client
        api.pull.close()


async def until(condition, seconds=10.0):
    async with asyncio.timeout(seconds):
        while not condition():
            await asyncio.sleep(0.02)


async def some(events, count):
    return [(await anext(events)).id for _ in range(count)]


async def test_events_come_in_order_and_are_acknowledged_when_the_next_is_asked_for(mailbox, client):
    await mailbox.publish(*range(5))
    async with client.events(mailbox.id, max_events=2) as events:
        assert await some(events, 3) == ["0", "1", "2"]
        assert mailbox.waiting == 3  # the second fetch said that two are done
        assert (events.current.event.id, events.current.position, events.current.handed) == ("2", 2, 1)
    async with client.events(mailbox.id) as events:
        assert await some(events, 3) == ["2", "3", "4"]  # the current one wasn't done


async def test_an_explicit_acknowledgement_is_durable_when_it_returns(mailbox, client):
    await mailbox.publish(1, 2)
    async with client.events(mailbox.id) as events:
        await anext(events)
        await events.acknowledge()
        assert mailbox.waiting == 1
    async with client.events(mailbox.id) as events:
        assert await some(events, 1) == ["2"]


async def test_what_is_done_is_acknowledged_soon(mailbox, client, monkeypatch):
    monkeypatch.setattr(consumer, "_KEEP_SECONDS", 0.05)
    await mailbox.publish(1, 2, 3)
    async with client.events(mailbox.id) as events:
        await some(events, 2)
        await until(lambda: mailbox.waiting == 2)


async def test_an_error_in_the_loop_lets_the_event_come_again(mailbox, client):
    await mailbox.publish(1, 2, 3)

    async def stumble():
        async with client.events(mailbox.id) as events:
            async for event in events:
                assert event.id == "1"

    with pytest.raises(AssertionError):
        await stumble()
    async with client.events(mailbox.id) as events:
        assert await some(events, 2) == ["2", "3"]


async def test_a_slow_loop_keeps_its_lease(api, client, monkeypatch):
    monkeypatch.setattr(consumer, "_KEEP_SECONDS", 0.1)
    with closing(Consumers(api, await subscribe(api, protocolsettings={"lease": 1}))) as mailbox:
        await mailbox.publish(1, 2)
        async with client.events(mailbox.id) as events:
            await anext(events)
            await asyncio.sleep(1.5)
            assert await client.pull(mailbox.id) == []
            assert (await anext(events)).id == "2"


async def test_a_consumer_that_nobody_has_any_more_lets_go(api, client, monkeypatch):
    monkeypatch.setattr(consumer, "_KEEP_SECONDS", 0.1)
    with closing(Consumers(api, await subscribe(api, protocolsettings={"lease": 1}))) as mailbox:
        await mailbox.publish(1, 2)
        async for event in client.events(mailbox.id):
            assert event.id == "1"
            break
        gc.collect()
        pulled = await client.pull(mailbox.id, wait_seconds=10)
        assert [(each.event.id, each.handed) for each in pulled] == [("1", 2), ("2", 2)]


async def test_a_client_that_ends_gives_back_what_its_consumers_hold(mailbox, api):
    await mailbox.publish(1, 2)
    async with api.served() as url:
        async with Client(url) as client:
            events = client.events(mailbox.id)
            await some(events, 2)
        assert mailbox.api.leases.fill(mailbox.id).held == 0
        assert mailbox.waiting == 1
        with pytest.raises(StopAsyncIteration):
            await anext(events)
        api.pull.close()


async def test_consumers_share_the_work(mailbox, client):
    await mailbox.publish(*range(100))

    seen: list[int] = []

    async def take():
        async with client.events(mailbox.id, max_events=10) as events:
            async for event in events:
                seen.append(int(event.id))
                await asyncio.sleep(0.002)

    tasks = [asyncio.create_task(take()) for _ in range(3)]
    await until(lambda: len(seen) == 100)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    assert sorted(seen) == list(range(100))


async def test_a_service_that_is_away_is_waited_for(mailbox, api, monkeypatch):
    await mailbox.publish(1, 2)
    async with api.served() as url, Client(url) as client:
        events = client.events(mailbox.id, max_events=1)
        assert (await anext(events)).id == "1"
        real, refusals = client._request, iter([503, 503, None])

        async def request(method, path, *rest, **more):
            if "/events" in path and (status := next(refusals, None)):
                raise ServiceRefused(status, {})
            return await real(method, path, *rest, **more)

        monkeypatch.setattr(client, "_request", request)
        assert (await anext(events)).id == "2"
        assert next(refusals, "all") == "all"
        api.pull.close()


async def test_what_can_t_be_pulled_is_said(client, api):
    made = await client.subscribe({"sink": "http://127.0.0.1:1/"})
    for subscription, status in ((made["id"], 409), ("nobody", 404)):
        with pytest.raises(ServiceRefused) as refused:
            await anext(client.events(subscription))
        assert refused.value.status == status


async def test_a_seek_drops_what_was_fetched(mailbox, client, api, monkeypatch):
    """The pipeline's part is played: the subscription goes live elsewhere, and the job is done."""
    await mailbox.publish(*range(5))
    result = {"found": True, "position": 4, "moved": True}

    async def finished(_):
        api.store.go_live(mailbox.id, LogPosition.at(4), lambda _: None)
        return result

    monkeypatch.setattr(client, "finished", finished)
    async with client.events(mailbox.id) as events:
        assert await some(events, 2) == ["0", "1"]
        assert await events.seek(4) == result
        assert (await anext(events)).id == "4"
    assert mailbox.waiting == 1


async def test_a_seek_that_finds_nothing_changes_nothing(mailbox, client, monkeypatch):
    await mailbox.publish(1, 2)

    async def finished(_):
        return {"found": False, "moved": False}

    monkeypatch.setattr(client, "finished", finished)
    async with client.events(mailbox.id) as events:
        await anext(events)
        assert not (await events.seek({"filter": {"exact": {"id": "no"}}}))["found"]
        assert (await anext(events)).id == "2"


async def test_polls_and_acknowledgements_by_hand(mailbox, client):
    await mailbox.publish(1, 2, 3)
    assert await client.pull(mailbox.id, max_events=2) != []
    (third,) = await client.pull(mailbox.id)
    assert (third.event.data, third.replay) == (b'""', None)
    assert await client.acknowledge(mailbox.id, ids=[third.cursor]) == {"acknowledged": 1}
    assert await client.pull(mailbox.id) == []
    assert await client.acknowledge(mailbox.id, up_to=third.cursor, release=True) == {
        "acknowledged": 0,
        "released": 0,
    }
