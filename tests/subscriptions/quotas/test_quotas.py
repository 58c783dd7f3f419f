"""What namespaces may have is kept to, also when several add to it at once."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from tests.opening import opening
from tests.subscriptions.stores import listed, proposal

from headrace.database.database import Database
from headrace.errors import QuotaExceeded
from headrace.events.positions import LogPosition
from headrace.filters import compile_filter
from headrace.filters.bounds.costs import worst_cost
from headrace.subscriptions.channels.name import ChannelName
from headrace.subscriptions.quotas.quotas import Overrides, Quotas
from headrace.subscriptions.quotas.store import QuotaStore
from headrace.subscriptions.store.store import Store

MACRO = {"cel": "data.items.exists(i, i.price > 5)"}
SEARCH = {"cel": "ce.subject.contains('x')"}
PLAIN = {"exact": {"type": "t"}}


@pytest.fixture
def open_store(database_url):
    opened = []

    def make(**quotas):
        opened.append(Store(Database(database_url), quotas=Quotas(**quotas)))
        return opened[-1]

    yield make
    for store in opened:
        store.database.close()


def _create(store, **properties):
    return store.create(proposal(**properties), LogPosition)


def test_no_more_than_so_many_subscriptions(open_store):
    store = open_store(subscriptions=2)
    first = _create(store)
    _create(store)
    with pytest.raises(QuotaExceeded) as refused:
        _create(store)
    assert (refused.value.quota, refused.value.limit, refused.value.current) == ("subscriptions", 2, 3)
    assert "headrace quotas set default" in str(refused.value)
    store.create_channel(ChannelName("shop", "orders"))
    _create(store, channel="shop/orders")
    store.delete(first.id, LogPosition)
    _create(store)


def test_no_more_than_so_many_channels(open_store):
    store = open_store(channels=2)
    store.create_channel(ChannelName("default", "second"))
    with pytest.raises(QuotaExceeded, match="quota channels of 2"):
        store.create_channel(ChannelName("default", "third"))
    store.create_channel(ChannelName("shop", "first"))


def test_two_at_once_don_t_pass_together(open_store):
    stores = [open_store(subscriptions=5) for _ in range(4)]

    def attempt(number):
        try:
            _create(stores[number % 4])
        except QuotaExceeded:
            return 0
        return 1

    with ThreadPoolExecutor(8) as threads:
        assert sum(threads.map(attempt, range(24))) == 5
    assert len(listed(stores[0])) == 5


def test_a_namespace_may_have_quotas_of_its_own(open_store, database_url):
    store = open_store(subscriptions=1, channels=1)
    with opening(QuotaStore, database_url) as quotas:
        quotas.set("default", Overrides(subscriptions=2))
        _create(store)
        _create(store)
        with pytest.raises(QuotaExceeded):
            _create(store)
        with pytest.raises(QuotaExceeded):
            store.create_channel(ChannelName("default", "more"))
        assert quotas.used("default") == {"subscriptions": 2, "channels": 1}
        quotas.set("default", Overrides(subscriptions=0))
        _create(store)
        assert quotas.all() == {"default": Overrides(subscriptions=0)}
        quotas.set("default", Overrides())
        assert quotas.all() == {}
        with pytest.raises(QuotaExceeded):
            _create(store)


@pytest.mark.parametrize(
    ("filters", "cost"),
    [
        ([PLAIN], 0),
        ([], 0),
        ([SEARCH], 2000),
        ([MACRO], 20_000),
        ([{"not": SEARCH}, {"any": [MACRO, SEARCH]}], 24_000),
    ],
)
def test_what_filters_cost_at_worst(filters, cost):
    assert worst_cost(compile_filter(filters).expression) == cost


def test_filters_that_cost_too_much_are_refused(open_store):
    store = open_store(filter_cost=2000)
    _create(store, filters=[PLAIN, SEARCH])
    with pytest.raises(QuotaExceeded, match="filterCost of 2000"):
        _create(store, filters=[MACRO])
    with pytest.raises(QuotaExceeded):
        _create(store, filters=[SEARCH, {"cel": "ce.subject.contains('y')"}])
    kept = _create(store, filters=[PLAIN])
    from dataclasses import replace

    with pytest.raises(QuotaExceeded):
        store.replace(replace(kept, filters=(MACRO,)))
    assert store.get(kept.id).filters == (PLAIN,)
