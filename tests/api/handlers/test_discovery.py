from tests.api.handlers.test_channels import assert_problem

from headrace.filters.dialects.table import DIALECTS
from headrace.protocols import PROTOCOLS


async def test_everything_that_can_be_chosen_is_listed(api):
    found = (await api.call("GET", "/api/discovery")).json
    assert list(found["dialects"]) == list(DIALECTS)
    assert found["dialects"]["sql"]["aliases"] == ["cesql"]
    assert found["dialects"]["expression"]["aliases"] == ["cel"]
    assert {name: list(each["settings"]) for name, each in found["protocols"].items()} == {
        name: list(each.settings) for name, each in PROTOCOLS.items()
    }
    assert found["protocols"]["HTTP"]["settings"]["method"] == {
        "enum": ["POST", "PUT", "PATCH"],
        "default": "POST",
        "description": "The method of requests.",
    }
    assert found["protocols"]["MQTT5"]["settings"]["qos"] == {
        "type": "integer", "minimum": 0, "maximum": 2, "default": 1, "description": PROTOCOLS["MQTT5"].settings["qos"].about,
    }  # fmt: skip
    assert found["credentials"]["PLAIN"] == ["identifier", "secret"]
    assert found["limits"]["filters"]["atoms"] == 1000
    assert found["limits"]["api"]["eventBytes"] >= 1024
    assert found["contentmodes"]["structured"] == "application/cloudevents+json"


async def test_it_says_what_options_says(api):
    options = (await api.call("OPTIONS", "/subscriptions")).json
    found = (await api.call("GET", "/api/discovery")).json
    assert (found["operations"], found["queryparameters"]) == (
        options["operations"],
        options["queryparameters"],
    )
    assert (list(found["protocols"]), list(found["dialects"])) == (options["protocols"], options["dialects"])
    assert list(found["subscriptionconfig"]) == options["config"]


async def test_every_channel_is_an_endpoint_for_producers_and_one_for_subscribers(api):
    channel = {"namespace": "shop", "name": "orders", "subscriptionconfig": {"interval": "integer"}}
    await api.send_json("POST", "/api/channels", channel)
    found = (await api.call("GET", "/api/discovery/endpoints")).json
    assert list(found) == [
        "default.default.producer", "default.default.subscriber", "shop.orders.producer", "shop.orders.subscriber",
    ]  # fmt: skip
    producer, subscriber = found["shop.orders.producer"], found["shop.orders.subscriber"]
    assert producer["protocoloptions"]["endpoints"][0]["uri"].endswith("/channels/shop/orders")
    assert "subscriptionconfig" not in producer
    assert subscriber["protocoloptions"]["endpoints"][0]["uri"].endswith("/subscriptions")
    assert subscriber["subscriptionconfig"]["interval"] == {"type": "integer", "required": False}
    assert list(found["default.default.subscriber"]["subscriptionconfig"]) == [
        "channel",
        "start",
        "delivery",
        "reply",
    ]
    alone = await api.call("GET", "/api/discovery/endpoints/shop.orders.subscriber")
    assert alone.json == subscriber
    assert subscriber["self"].endswith("/api/discovery/endpoints/shop.orders.subscriber")


async def test_an_endpoint_that_is_not_there_is_not_found(api):
    assert_problem(await api.call("GET", "/api/discovery/endpoints/no.such.producer"), 404, "not-found")
