"""Pages of subscriptions, read by indexes."""

from dataclasses import replace
from itertools import chain

import pytest
from sqlalchemy import event
from tests.opening import opening
from tests.subscriptions.stores import proposal

from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.store.query import SubscriptionQuery
from headrace.subscriptions.store.store import Store

ORDERS, OTHERS = ChannelName("shop", "orders"), ChannelName("shop", "others")
NATS = {"sink": "nats://example.com", "protocol": "NATS", "protocolsettings": {"subject": "a"}}


@pytest.fixture
def store(database_url):
    with opening(Store, database_url) as opened:
        opened.create_channel(ORDERS)
        opened.create_channel(OTHERS)
        yield opened


def create(store, *channels, **properties):
    return [
        store.create(proposal(channel, **properties), lambda: LogPosition.at(1)).id for channel in channels
    ]


def ids(store, **query):
    """The pages one after the other, as somebody sees them who asks on."""
    wanted, found = SubscriptionQuery(**query), []
    while True:
        page = store.page(wanted)
        found.append([each.id for each in page.subscriptions])
        if page.next is None:
            return found
        wanted = replace(wanted, after=page.next)


def test_pages_have_each_one_once_in_the_order_of_creation(store):
    made = create(store, *["default/default"] * 5)
    store.create_many([proposal() for _ in range(5)], LogPosition.at(1))
    pages = ids(store, limit=3)
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    flat = list(chain(*pages))
    assert flat[:5] == made
    assert len(set(flat)) == 10
    assert [len(page) for page in ids(store, limit=10)] == [10], "nothing more, and no empty page behind"


def test_what_comes_and_goes_meanwhile_moves_nobody_else(store):
    made = create(store, *["default/default"] * 4)
    page = store.page(SubscriptionQuery(limit=2))
    store.delete(made[0], lambda: LogPosition.at(2))
    store.delete(made[3], lambda: LogPosition.at(2))
    store.pause(made[2])
    (new,) = create(store, "default/default")
    rest = store.page(SubscriptionQuery(after=page.next))
    assert [each.id for each in rest.subscriptions] == [made[2], new]


def test_everything_that_is_asked_for_must_hold(store):
    first, second, third = create(store, "shop/orders", "shop/others", "default/default")
    nats, other = create(store, "shop/orders", **NATS) + create(store, "shop/orders", sink="http://other/")
    store.pause(second)
    store.end(third, "status 410")
    store.pause(third)
    assert ids(store) == [[first, second, third, nats, other]]
    assert ids(store, namespace="shop") == [[first, second, nats, other]]
    assert ids(store, channel=ORDERS) == [[first, nats, other]]
    assert ids(store, sink="https://example.com/in") == [[first, second, third]]
    assert ids(store, sink="https://example.com/") == [[]]
    assert ids(store, protocol="NATS") == [[nats]]
    assert ids(store, state="active") == [[first, nats, other]]
    assert ids(store, state="paused") == [[second]]
    assert ids(store, state="ended") == [[third]]
    assert ids(store, namespace="shop", protocol="HTTP", state="active", limit=1) == [[first], [other]]
    assert ids(store, namespace="shop", channel=ChannelName("default", "default")) == [[]]


def test_a_sink_that_is_longer_than_an_index_takes(store):
    sink = "https://example.com/" + "x" * 100_000
    (long,) = create(store, "default/default", sink=sink)
    assert ids(store, sink=sink) == [[long]]
    assert ids(store, sink=sink[:-1]) == [[]]


@pytest.mark.parametrize(
    ("query", "index"),
    [
        ({}, "place"),
        ({"namespace": "shop"}, "namespace"),
        ({"channel": ORDERS}, "channel"),
        ({"sink": "http://x/"}, "sink"),
        ({"protocol": "NATS"}, "protocol"),
        ({"state": "active"}, "state"),
    ],
)
def test_an_index_finds_the_page_and_has_it_in_order(store, query, index):
    if store.database.engine.dialect.name != "sqlite":
        pytest.skip("PostgreSQL decides by statistics, which so small a table doesn't have")
    asked = []
    event.listen(store.database.engine, "before_cursor_execute", lambda *args: asked.append(args[2:4]))
    store.page(SubscriptionQuery(**query, after=(3, "x")))
    (statement, parameters) = asked[-1]
    with store.database.engine.connect() as connection:
        plan = [row[3] for row in connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)]
    assert any(f"INDEX subscriptions_by_{index} " in step for step in plan), plan
    assert not any("TEMP B-TREE" in step for step in plan), plan
