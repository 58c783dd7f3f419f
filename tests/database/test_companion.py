"""What goes with a change is there exactly when the change is."""

import pytest
from sqlalchemy import insert, select
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.database.companion import Companion
from headrace.errors import Conflict
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.tables import QUOTAS


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as made:
        yield made


def noting(*names):
    """Return what writes a row each time it is called."""
    left = iter(names)
    return Companion(lambda connection: connection.execute(insert(QUOTAS).values(namespace=next(left))))


def noted(store):
    with store.database.reading() as connection:
        return sorted(connection.execute(select(QUOTAS.c.namespace)).scalars())


def create(store, along=None):
    return store.create(proposal(), lambda: LogPosition.at(1), along=along)


def failing(_):
    raise ZeroDivisionError


def test_it_is_written_once_and_with_the_first_transaction(store):
    one = noting("one")

    def noting_and_looking(connection):
        assert listed(store) == [], "nobody sees the change before what goes with it"
        one.write(connection)

    along = Companion(noting_and_looking)
    create(store, along)
    assert along.is_committed
    create(store, along)
    create(store)
    assert (len(listed(store)), noted(store)) == (3, ["one"])


def test_a_change_that_fails_takes_it_back(store):
    store.create_channel(ChannelName("shop", "orders"))
    along = noting("one", "two")
    with pytest.raises(Conflict):
        store.create_channel(ChannelName("shop", "orders"), along=along)
    with pytest.raises(ZeroDivisionError):
        store.create(proposal(), lambda: LogPosition.at(1), failing, along)
    assert (noted(store), along.is_committed) == ([], False)
    create(store, along)
    assert noted(store) == ["one"]


def test_it_is_written_again_where_its_transaction_was_rolled_back(store, monkeypatch):
    along, dialect = noting("one", "two"), store.database.engine.dialect
    with monkeypatch.context() as patch:
        patch.setattr(dialect, "do_commit", failing)
        with pytest.raises(ZeroDivisionError):
            create(store, along)
    assert (listed(store), noted(store), along.is_committed) == ([], [], False)
    create(store, along)
    assert noted(store) == ["two"]


def test_without_it_there_is_no_change(store):
    with pytest.raises(ZeroDivisionError):
        create(store, Companion(failing))
    assert listed(store) == []
