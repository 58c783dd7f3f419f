"""What channels declare for their subscriptions' config."""

import pytest

from headrace.errors import InvalidChannel, InvalidSubscription
from headrace.subscriptions.channels.document import parse_channel_document
from headrace.subscriptions.subscription import parse_subscription

DECLARED = {
    "interval": {"type": "integer", "enum": [1, 5], "required": True, "description": "seconds"},
    "ratio": "number",
    "unit": {"type": "string"},
    "deep": {"type": "boolean", "required": False},
    "parts": "array",
    "more": "object",
}


def declared(_):
    return channel(DECLARED).config


def channel(declarations):
    return parse_channel_document(
        {"namespace": "shop", "name": "orders", "subscriptionconfig": declarations, "url": "ignored"}
    )


def faults(config):
    try:
        parse_subscription({"sink": "http://x/", "config": {"channel": "shop/orders", **config}}, declared)
    except InvalidSubscription as refused:
        return dict(refused.faults)
    return {}


def test_declarations_are_shown_with_their_defaults():
    shown = channel(DECLARED).document()
    assert shown["subscriptionconfig"] == {
        "interval": {"type": "integer", "enum": [1, 5], "required": True, "description": "seconds"},
        "ratio": {"type": "number", "required": False},
        "unit": {"type": "string", "required": False},
        "deep": {"type": "boolean", "required": False},
        "parts": {"type": "array", "required": False},
        "more": {"type": "object", "required": False},
    }
    assert parse_channel_document(shown) == channel(DECLARED)
    assert "subscriptionconfig" not in channel(None).document()
    assert "subscriptionconfig" not in channel({}).document()


@pytest.mark.parametrize(
    ("declarations", "paths"),
    [
        ([], {"subscriptionconfig"}),
        ({"": "string"}, {"subscriptionconfig."}),
        ({"channel": "string"}, {"subscriptionconfig.channel"}),
        ({"x" * 201: "string"}, {"subscriptionconfig." + "x" * 201}),
        ({"a": "text"}, {"subscriptionconfig.a.type"}),
        ({"a": 1}, {"subscriptionconfig.a"}),
        ({"a": {}}, {"subscriptionconfig.a.type"}),
        ({"a": {"type": "string", "colour": 1}}, {"subscriptionconfig.a.colour"}),
        ({"a": {"type": "string", "enum": [1]}}, {"subscriptionconfig.a.enum"}),
        ({"a": {"type": "integer", "enum": [True]}}, {"subscriptionconfig.a.enum"}),
        ({"a": {"type": "integer", "enum": 1}}, {"subscriptionconfig.a.enum"}),
        ({"a": {"type": "integer", "required": "yes"}, "b": "?"}, {"subscriptionconfig.a.required", "subscriptionconfig.b.type"}),
        ({"a": {"type": "integer", "description": 1}}, {"subscriptionconfig.a.description"}),
        ({str(number): "string" for number in range(101)}, {"subscriptionconfig"}),
    ],
)  # fmt: skip
def test_a_declaration_that_can_t_be_used(declarations, paths):
    with pytest.raises(InvalidChannel) as caught:
        channel(declarations)
    assert {path for path, _ in caught.value.faults} == paths


@pytest.mark.parametrize(
    "config",
    [
        {"interval": 5},
        {
            "interval": 1,
            "ratio": 1,
            "unit": "",
            "deep": True,
            "parts": [1],
            "more": {},
            "delivery": {"retry": 1},
        },
        {"interval": 1, "ratio": 0.5, "deep": False},
        {"interval": 1.0},
    ],
)
def test_what_is_declared_is_taken(config):
    assert faults(config) == {}
    made = parse_subscription({"sink": "http://x/", "config": {"channel": "shop/orders", **config}}, declared)
    assert made.document()["config"] == {"channel": "shop/orders", **config}


@pytest.mark.parametrize(
    ("config", "path", "said"),
    [
        ({}, "config.interval", "is required: channel shop/orders declares it"),
        ({"interval": 2}, "config.interval", "2 is none of 1, 5"),
        ({"interval": "1"}, "config.interval", "has to be of type integer"),
        ({"interval": True}, "config.interval", "has to be of type integer"),
        ({"interval": 1.5}, "config.interval", "has to be of type integer"),
        ({"interval": 1, "ratio": False}, "config.ratio", "has to be of type number"),
        ({"interval": 1, "unit": None}, "config.unit", "has to be of type string"),
        ({"interval": 1, "deep": 0}, "config.deep", "has to be of type boolean"),
        ({"interval": 1, "colour": 1}, "config.colour", "channel, start, delivery, reply, interval (integer), ratio"),
        ({"interval": 1, "": 1}, "config.", "unknown key"),
    ],
)  # fmt: skip
def test_what_isn_t_as_declared_is_refused(config, path, said):
    found = faults(config)
    assert list(found) == [path]
    assert said in found[path]


def test_without_declarations_the_service_s_own_keys_are_all():
    with pytest.raises(InvalidSubscription, match=r"default/default have: channel, start, delivery, reply$"):
        parse_subscription({"sink": "http://x/", "config": {"interval": 5}})
