"""What was exported is the same after an import, whatever it is."""

from dataclasses import replace

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.subscriptions.stores import memory_url

from headrace.database.database import Database
from headrace.events.positions import LogPosition
from headrace.subscriptions.channels.config_keys import ConfigKey
from headrace.subscriptions.channels.name import DEFAULT_CHANNEL, ChannelName
from headrace.subscriptions.imports.line import line_of
from headrace.subscriptions.imports.lines import Import
from headrace.subscriptions.store.store import Store
from headrace.subscriptions.subscription import parse_subscription

ORDERS = ChannelName("shop", "orders")
DECLARED = {"region": ConfigKey("string"), "size": ConfigKey("integer")}
CHANNELS = {DEFAULT_CHANNEL: {}, ORDERS: DECLARED}
TEXT = st.text(st.characters(codec="utf-8", exclude_characters="\0"), min_size=1, max_size=8)
DESTINATIONS = st.sampled_from(
    [
        {"sink": "https://example.com/in?a=1", "protocol": "HTTP"},
        {"sink": "http://example.com/", "protocol": "HTTP", "protocolsettings": {"headers": {"x-shop": "1"}}},
        {"sink": "https://example.com/", "protocolsettings": {"method": "PUT", "mode": "structured"}},
        {"sink": "kafka://broker:9092/topic", "protocol": "KAFKA"},
        {"sink": "mqtt://broker", "protocol": "MQTT5", "protocolsettings": {"topicname": "a/b"}},
        {"sink": "nats://server:4222", "protocol": "NATS", "protocolsettings": {"subject": "a.b"}},
        {"protocol": "PULL", "protocolsettings": {"lease": 7}},
        {"protocol": "PULL"},
    ]
)
ATOMS = st.one_of(
    st.dictionaries(st.sampled_from(["type", "subject", "source"]), TEXT, min_size=1).map(
        lambda given: {"exact": given}
    ),
    TEXT.map(lambda text: {"prefix": {"type": text}}),
    st.integers(0, 99).map(lambda number: {"cel": f"data.amount > {number}"}),
    st.integers(0, 99).map(lambda number: {"sql": f"amount > {number}"}),
)
FILTERS = st.lists(
    st.recursive(
        ATOMS,
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map(lambda some: {"all": some}),
            st.lists(inner, min_size=1, max_size=3).map(lambda some: {"any": some}),
            inner.map(lambda one: {"not": one}),
        ),
        max_leaves=4,
    ),
    max_size=3,
)
CONFIG = st.fixed_dictionaries(
    {},
    optional={
        "start": st.sampled_from(["latest", "earliest", {"position": 3}]),
        "delivery": st.sampled_from(
            [{"retry": 3}, {"retry": 2, "backoffDelay": "PT1S", "ordering": "ordered"}]
        ),
    },
)
KEYS = st.fixed_dictionaries({}, optional={"region": TEXT, "size": st.integers(0, 9)})
STATES = st.tuples(st.booleans(), st.none() | st.sampled_from(["status 410", "gone: “für immer”"]))


@st.composite
def wishes(draw):
    """A proposal, and what was done to it: paused or not, ended or not."""
    channel = draw(st.sampled_from(list(CHANNELS)))
    config = draw(CONFIG) | (draw(KEYS) if channel == ORDERS else {}) | {"channel": str(channel)}
    document = draw(DESTINATIONS) | {"filters": draw(FILTERS), "config": config}
    if document.get("protocol") == "PULL" and "delivery" in config:
        config["delivery"] = {"ordering": "ordered"}  # the rest of it is about sinks
    document |= draw(
        st.fixed_dictionaries(
            {}, optional={"types": st.lists(TEXT, min_size=1, max_size=3), "source": st.just("/a/b")}
        )
    )
    return parse_subscription(document, lambda name: CHANNELS[name]), draw(STATES)


@pytest.fixture(scope="module")
def deployments():
    with memory_url() as one, memory_url() as other:
        stores = [Store(Database(url)) for url in (one, other)]
        for store in stores:
            store.create_channel(ORDERS, config=DECLARED)
        yield stores
        for store in stores:
            store.database.close()


@given(wished=st.lists(wishes(), min_size=1, max_size=5))
@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_subscriptions_come_out(deployments, wished):
    """Everything but where they begin, which another log says."""
    here, there = deployments
    here.create_many([wish for wish, _ in wished], LogPosition.at(5))
    for wish, (is_paused, ended) in wished:
        if is_paused:
            here.pause(wish.id)
        if ended is not None:
            here.end(wish.id, ended)
    reading = Import(CHANNELS, keep_ids=True)
    with reading.lot:
        reading.read([msgspec.json.encode(line_of(here.get(wish.id))) for wish, _ in wished])
        assert reading.refusals == []
        assert there.create_lot(reading.lot, lambda: LogPosition.at(9)) == len(wished)
    for wish, _ in wished:
        was, now = here.get(wish.id), there.get(wish.id)
        assert replace(now, created=was.created) == was
        assert (now.state, line_of(now)) == (was.state, line_of(was))


@pytest.mark.parametrize(
    ("delivery", "path"), [({"state": "asleep"}, "state"), ({"state": "ended", "reason": 5}, "reason")]
)
def test_a_state_that_there_is_not_is_a_fault_of_its_line(delivery, path):
    reading = Import(CHANNELS)
    line = {"sink": "https://example.com/", "status": {"delivery": delivery}}
    with reading.lot:
        reading.read([msgspec.json.encode(line)])
    assert [path for path, _ in reading.refusals[0].faults] == [f"status.delivery.{path}"]


@pytest.mark.parametrize("status", [None, 5, {}, {"delivery": None}, {"delivery": {"state": "active"}}])
def test_other_statuses_make_no_difference(status):
    reading = Import(CHANNELS)
    with reading.lot:
        reading.read([msgspec.json.encode({"sink": "https://example.com/", "status": status})])
        ((entry,),) = reading.lot.pages()
    assert (reading.refused, entry.row["state"]) == (0, "active")
