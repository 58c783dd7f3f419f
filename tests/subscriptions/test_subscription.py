import uuid

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filters.strategies import json_values

from headrace.errors import MOST_FAULTS, InvalidSubscription, shortened
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName
from headrace.subscriptions.subscription import PROPERTIES, parse_subscription

SINK = "https://example.com/in"


def faults(document):
    with pytest.raises(InvalidSubscription) as caught:
        parse_subscription(document)
    assert caught.value.code == "invalid-subscription"
    said = [f"{path}: {problem}" if path else problem for path, problem in caught.value.faults]
    told = "; ".join(map(shortened, said[:MOST_FAULTS]))
    assert str(caught.value).startswith(told)
    assert len(said) > MOST_FAULTS or str(caught.value) == told
    assert all(problem for _, problem in caught.value.faults)
    return caught.value.faults


def paths(document):
    return [path for path, _ in faults(document)]


def test_the_defaults():
    subscription = parse_subscription({"sink": SINK})
    assert subscription.channel == DEFAULT_CHANNEL
    assert (subscription.source, subscription.types, subscription.filters) == (None, (), ())
    assert (subscription.created, subscription.deleted, subscription.deleting) == (None, None, False)
    assert subscription.document() == {
        "id": subscription.id,
        "config": {"channel": "default/default"},
        "filters": [],
        "sink": SINK,
        "protocol": "HTTP",
        "protocolsettings": {"method": "POST", "mode": "binary"},
    }


def test_everything_that_was_given_is_shown():
    document = {
        "source": "/orders",
        "types": ["created", "paid"],
        "config": {"channel": "team-a/orders"},
        "filters": [{"exact": {"subject": "x"}}, {"not": {"prefix": {"type": "y"}}}],
        "sink": SINK,
        "protocol": "HTTP",
        "protocolsettings": {"method": "PUT", "mode": "structured", "headers": {"x-team": "v"}},
    }
    subscription = parse_subscription(document)
    assert subscription.document() == {"id": subscription.id, **document}
    assert subscription.channel == ChannelName("team-a", "orders")


def test_settings_that_were_not_given_have_their_defaults():
    subscription = parse_subscription({"sink": SINK, "protocolsettings": {"mode": "structured"}})
    assert subscription.protocolsettings == {"method": "POST", "mode": "structured"}


def test_an_id_in_the_proposal_is_ignored():
    proposals: list[object] = ["mine", "mine", None, 7, {}]
    ids = {parse_subscription({"sink": SINK, "id": proposal}).id for proposal in proposals}
    assert len(ids) == 5
    assert all(uuid.UUID(each) for each in ids)


@pytest.mark.parametrize("document", [None, [], "x", 7, True, [{"sink": SINK}]], ids=repr)
def test_a_subscription_is_an_object(document):
    assert paths(document) == [""]


FAULTS = [
    ({}, ["sink"]),
    ({"sink": None}, ["sink"]),
    ({"sink": "ftp://example.com"}, ["sink"]),
    ({"sink": "https://user:pw@example.com"}, ["sink"]),
    ({"sink": SINK, "Sink": SINK}, ["Sink"]),
    ({"sink": SINK, "subscriber": {}}, ["subscriber"]),
    ({"sink": SINK, "": 1}, [""]),
    ({"sink": SINK, "protocol": "http"}, ["protocol"]),
    ({"sink": SINK, "protocol": None}, ["protocol"]),
    ({"sink": SINK, "protocolsettings": None}, ["protocolsettings"]),
    ({"sink": SINK, "protocolsettings": {"method": "GET"}}, ["protocolsettings.method"]),
    ({"sink": SINK, "source": ""}, ["source"]),
    ({"sink": SINK, "source": None}, ["source"]),
    ({"sink": SINK, "source": "no reference"}, ["source"]),
    ({"sink": SINK, "source": ["/s"]}, ["source"]),
    ({"sink": SINK, "types": "t"}, ["types"]),
    ({"sink": SINK, "types": None}, ["types"]),
    ({"sink": SINK, "types": [""]}, ["types"]),
    ({"sink": SINK, "types": ["t", 7]}, ["types"]),
    ({"sink": SINK, "types": {"t": 1}}, ["types"]),
    ({"sink": SINK, "config": None}, ["config"]),
    ({"sink": SINK, "config": []}, ["config"]),
    ({"sink": SINK, "config": {"retries": 3}}, ["config.retries"]),
    ({"sink": SINK, "config": {"channel": "orders"}}, ["config.channel"]),
    ({"sink": SINK, "config": {"channel": "a/b/c"}}, ["config.channel"]),
    ({"sink": SINK, "config": {"channel": "A/b"}}, ["config.channel"]),
    ({"sink": SINK, "config": {"channel": None}}, ["config.channel"]),
    ({"sink": SINK, "config": {"channel": {"namespace": "a", "name": "b"}}}, ["config.channel"]),
    ({"sink": SINK, "filters": None}, ["filters[0]"]),
    ({"sink": SINK, "filters": "type = 'x'"}, ["filters[0]"]),
    ({"sink": SINK, "filters": [7]}, ["filters[0]"]),
    ({"sink": SINK, "filters": [{}]}, ["filters[0]"]),
    ({"sink": SINK, "filters": [{"exact": {"type": "x"}}, {"exact": {}}]}, ["filters[1].exact"]),
    ({"sink": SINK, "filters": [{"all": [{"prefix": {"type": ""}}]}]}, ["filters[0].all[0].prefix.type"]),
    ({"sink": SINK, "filters": [{"no such dialect": {}}]}, ["filters[0]"]),
    ({"sink": SINK, "filter": None}, ["filter"]),
    ({"sink": SINK, "filter": 7}, ["filter"]),
    ({"sink": SINK, "filter": {"exact": {}}}, ["filter.exact"]),
    (
        {"sink": SINK, "filter": {"any": [{"exact": {"type": "x"}}, {"suffix": {"type": 7}}]}},
        ["filter.any[1].suffix.type"],
    ),
    ({"sink": SINK, "filter": {"any": [{"exact": {"type": "x"}}] * 5000}}, ["filter"]),
    ({"sink": SINK, "filters": [{"exact": {"type": "x"}}] * 5000}, ["filters"]),
    ({"sink": SINK, "filter": [{"exact": {"type": "x"}}, {"exact": {}}]}, ["filter[1].exact"]),
    ({"sink": SINK, "filter": {"exact": {"type": "x"}}, "filters": []}, ["filter"]),
    (
        {"sink": SINK, "filter": {"exact": {"type": "x"}}, "filters": [{"exact": {}}]},
        ["filter", "filters[0].exact"],
    ),
]


@pytest.mark.parametrize(("document", "expected"), FAULTS)
def test_faults_are_told_with_their_path(document, expected):
    assert paths(document) == expected


def test_all_faults_are_told_at_once():
    document = {
        "colour": "red",
        "sinkCredential": {"credentialType": "PLAIN"},
        "sink": "nowhere",
        "protocol": "HTTP",
        "protocolsettings": {"method": "GET", "verb": 1},
        "source": 7,
        "types": 7,
        "config": {"channel": "x", "start": 7},
        "filters": [{"exact": {}}],
    }
    assert paths(document) == [
        "colour",
        "sinkCredential.identifier",
        "sinkCredential.secret",
        "protocolsettings.verb",
        "protocolsettings.method",
        "sink",
        "source",
        "types",
        "config.start",
        "config.channel",
        "filters[0].exact",
    ]


def test_one_filter_is_a_list_of_one():
    condition = {"exact": {"type": "x"}}
    assert parse_subscription({"sink": SINK, "filter": condition}).filters == (condition,)
    assert parse_subscription({"sink": SINK, "filters": [condition]}).filters == (condition,)


@given(st.dictionaries(st.sampled_from([*PROPERTIES, "other"]), json_values | st.just(SINK)))
def test_whatever_is_proposed_is_taken_or_refused(document):
    """Nothing but InvalidSubscription comes out, and what is taken can be shown."""
    try:
        subscription = parse_subscription(document)
    except InvalidSubscription:
        assert faults(document)
    else:
        assert subscription.document()["sink"] == document["sink"]
        assert set(document) <= set(PROPERTIES)


def test_delivery_and_reply_are_kept_as_they_were_given():
    config = {
        "delivery": {"retry": 3, "backoffDelay": "PT2S"},
        "reply": {"uri": "https://example.com/replies"},
    }
    subscription = parse_subscription({"sink": "https://example.com/", "config": config})
    assert subscription.delivery == config["delivery"]
    assert subscription.reply == "https://example.com/replies"
    assert subscription.document()["config"] == config | {"channel": "default/default"}
    plain = parse_subscription({"sink": "https://example.com/"})
    assert (plain.delivery, plain.reply) == (None, None)


def test_faults_of_delivery_and_reply_have_their_paths():
    config = {"delivery": {"timeout": "soon"}, "reply": {"ref": {}}}
    with pytest.raises(InvalidSubscription) as refused:
        parse_subscription({"sink": "https://example.com/", "config": config})
    assert [path for path, _ in refused.value.faults] == ["config.delivery.timeout", "config.reply.ref"]
