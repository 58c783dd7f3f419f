"""What goes with a change is there exactly when the change is."""

import asyncio

import pytest
from sqlalchemy import insert, make_url, select
from tests.subscriptions.stores import listed, proposal

from headrace.database.alongside import alongside
from headrace.errors import Conflict
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import QUOTAS


@pytest.fixture
def store(database_url):
    made = Store(database_url)
    yield made
    made.close()


def noting(*names):
    """Return what writes a row each time it is called."""
    left = iter(names)
    return lambda connection: connection.execute(insert(QUOTAS).values(namespace=next(left)))


def noted(store):
    with store._engine.connect() as connection:
        return sorted(connection.execute(select(QUOTAS.c.namespace)).scalars())


def create(store):
    return store.create(proposal(), lambda: LogPosition.at(1))


def test_it_is_written_once_and_with_the_first_transaction(store):
    def noting_and_looking(connection):
        assert listed(store) == [], "nobody sees the change before what goes with it"
        noting("one")(connection)

    with alongside(store._engine.url, noting_and_looking):
        create(store)
    create(store)
    assert noted(store) == ["one"]


def test_reading_takes_nothing_along(store):
    with alongside(store._engine.url, noting("one")):
        listed(store)
        store.revision()
    assert noted(store) == []


def test_a_change_that_fails_takes_it_back(store):
    store.create_channel(ChannelName("shop", "orders"))

    def failing(_):
        raise ZeroDivisionError

    with alongside(store._engine.url, noting("one", "two")):
        with pytest.raises(Conflict):
            store.create_channel(ChannelName("shop", "orders"))
        with pytest.raises(ZeroDivisionError):
            store.create(proposal(), lambda: LogPosition.at(1), failing)
        assert noted(store) == []
        create(store)
    assert noted(store) == ["one"]


def test_without_it_there_is_no_change(store):
    def failing(_):
        raise ZeroDivisionError

    with alongside(store._engine.url, failing), pytest.raises(ZeroDivisionError):
        create(store)
    assert listed(store) == []


def test_another_database_takes_nothing_along(store):
    with alongside(make_url("sqlite:////nowhere/else.db"), noting("one")):
        create(store)
    assert noted(store) == []


async def test_threads_that_are_asked_belong_to_it_and_others_don_t(store):
    async def beside():
        await asyncio.to_thread(create, store)

    other = asyncio.create_task(beside())
    with alongside(store._engine.url, noting("one")):
        await other
        assert noted(store) == []
        await asyncio.to_thread(create, store)
    assert noted(store) == ["one"]


async def test_what_goes_on_afterwards_doesn_t_belong_to_it(store):
    go_on = asyncio.Event()

    async def later():
        await go_on.wait()
        await asyncio.to_thread(create, store)

    with alongside(store._engine.url, noting("one")):
        going = asyncio.create_task(later())
    go_on.set()
    await going
    assert (len(listed(store)), noted(store)) == (1, [])
