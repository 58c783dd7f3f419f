"""Sharing of clients: who keeps one open, who is sent away, and what is closed."""

import asyncio

import pytest
from tests.delivery.protocols.contract import eventually

from headrace.delivery.protocols.clients import Clients


class Made:
    """A client without a server: only its life is looked at here."""

    def __init__(self):
        self.usable = True
        self.closed = 0

    async def close(self):
        self.closed += 1


class Maker:
    def __init__(self):
        self.made = []

    async def __call__(self):
        await asyncio.sleep(0)
        self.made.append(Made())
        return self.made[-1]


@pytest.fixture
async def clients():
    clients: Clients[Made] = Clients(2, 60.0)
    yield clients
    await clients.close()


async def use(clients, key, owner, make):
    async with clients.use(key, owner, make) as client:
        return client


async def test_equal_keys_share_one_and_it_is_made_once(clients):
    make = Maker()
    found = await asyncio.gather(*(use(clients, "k", str(number), make) for number in range(5)))
    assert len(make.made) == len(set(map(id, found))) == 1


async def test_it_is_closed_when_the_last_owner_is_forgotten(clients):
    make = Maker()
    for owner in "ab":
        await use(clients, "k", owner, make)
    await clients.forget("a")
    await asyncio.sleep(0)
    assert (len(clients), make.made[0].closed) == (1, 0)
    await clients.forget("b")
    await eventually(lambda: make.made[0].closed == 1)
    assert len(clients) == 0


async def test_what_is_in_use_is_closed_only_afterwards(clients):
    make = Maker()
    async with clients.use("k", "a", make) as client:
        await clients.forget("a")
        await asyncio.sleep(0.01)
        assert client.closed == 0
    await eventually(lambda: client.closed == 1)


async def test_the_one_unused_for_longest_makes_room(clients):
    make = Maker()
    for key in ("first", "second", "first", "third"):
        await use(clients, key, "a", make)
    await eventually(lambda: [each.closed for each in make.made] == [0, 1, 0])


async def test_too_many_in_use_is_said(clients):
    make = Maker()
    async with clients.use(1, "a", make), clients.use(2, "a", make):
        with pytest.raises(ConnectionError, match="all 2 connections"):
            await use(clients, 3, "a", make)
    await use(clients, 3, "a", make)


async def test_the_unusable_is_made_anew(clients):
    make = Maker()
    (await use(clients, "k", "a", make)).usable = False
    again = await use(clients, "k", "a", make)
    assert again is make.made[1]
    await eventually(lambda: make.made[0].closed == 1)


async def test_a_failure_is_told_and_not_kept(clients):
    make, outcomes = Maker(), [OSError("no"), None]

    async def sometimes():
        if error := outcomes.pop(0):
            raise error
        return await make()

    with pytest.raises(OSError, match="no"):
        await use(clients, "k", "a", sometimes)
    assert await use(clients, "k", "a", sometimes) is make.made[0]


async def test_making_goes_on_when_who_asked_gives_up(clients):
    go, make = asyncio.Event(), Maker()

    async def slowly():
        await go.wait()
        return await make()

    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.01):
            await use(clients, "k", "a", slowly)
    go.set()
    assert await use(clients, "k", "a", make) is make.made[0]
    assert len(make.made) == 1


async def test_idle_ones_are_closed():
    make = Maker()
    clients: Clients[Made] = Clients(2, 0.02)
    await use(clients, "k", "a", make)
    await eventually(lambda: make.made[0].closed == 1)
    assert len(clients) == 0
    await clients.close()


async def test_closing_ends_what_is_being_made():
    clients: Clients[Made] = Clients(2, 60.0)

    async def never():
        await asyncio.Event().wait()

    asking = asyncio.create_task(use(clients, "k", "a", never))
    await asyncio.sleep(0.01)
    await clients.close()
    with pytest.raises(asyncio.CancelledError):
        await asking
