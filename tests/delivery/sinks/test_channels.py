"""The dispatcher's own key: good at channels of the subscription's namespace, and nowhere else."""

import pytest
from tests.opening import opening
from tests.subscriptions.stores import proposal

from headrace.auth.keys.ring import KeyRing
from headrace.auth.keys.store import KeyStore
from headrace.auth.roles import Role
from headrace.database.database import Database
from headrace.delivery.sinks.channels import LocalChannels
from headrace.errors import Unauthenticated
from headrace.subscriptions.store.store import Store

ADDRESS = "http://headrace.example:8080"


@pytest.fixture
def keys(database_url):
    Store(Database(database_url)).database.close()
    with opening(KeyStore, database_url) as opened:
        yield opened


@pytest.fixture
async def home(keys):
    made = LocalChannels(ADDRESS, keys)
    await made.open()
    return made


async def test_it_is_shown_at_channels_of_the_same_namespace_only(home):
    subscription = proposal("shop/orders")
    token = home.token_for(subscription, f"{ADDRESS}/channels/shop/replies")
    assert token is not None
    assert home.is_own(token)
    for elsewhere in (
        f"{ADDRESS}/channels/bank/orders",
        f"{ADDRESS}/channels/shopping/orders",
        f"{ADDRESS}/channels/shop",
        f"{ADDRESS}/channels/",
        f"{ADDRESS}.evil.example/channels/shop/orders",
        "http://headrace.example/channels/shop/orders",
        "https://headrace.example:8080/channels/shop/orders",
        "http://elsewhere.example/?http://headrace.example:8080/channels/shop/orders",
        f"{ADDRESS}/channels/shop/../bank/orders",
        f"{ADDRESS}/channels/shop/%2e%2e/bank/orders",
        f"{ADDRESS}/channels/shop/orders/more",
        f"{ADDRESS}/channels/shop/orders?x=1",
    ):
        assert home.token_for(subscription, elsewhere) is None, elsewhere


async def test_it_may_publish_and_nothing_else(home, keys):
    token = home.token_for(proposal("shop/orders"), f"{ADDRESS}/channels/shop/replies")
    holder = KeyRing(keys).holder(token.value)
    assert holder.may(Role.PUBLISH, "shop")
    assert not holder.may(Role.SUBSCRIBE, "shop")
    assert not holder.may(Role.ADMIN, "shop")


async def test_it_ends_with_the_dispatcher(home, keys):
    token = home.token_for(proposal("shop/orders"), f"{ADDRESS}/channels/shop/replies")
    assert keys.all()[0].expires is not None
    home.close()
    with pytest.raises(Unauthenticated, match="revoked"):
        KeyRing(keys).holder(token.value)
