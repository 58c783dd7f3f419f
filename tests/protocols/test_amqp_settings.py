import pytest
from tests.protocols.proposals import faults_of, paths_of, settings_of

DEFAULTS = {"sendersettlementmode": "unsettled", "mode": "binary"}


def test_the_address_is_in_the_settings_or_in_the_sink():
    assert settings_of("AMQP", "amqp://host:5672/orders") == DEFAULTS
    assert settings_of("AMQP", "amqps://host", address="orders") == {"address": "orders", **DEFAULTS}
    assert paths_of("AMQP", "amqp://host") == ["protocolsettings.address"]
    assert paths_of("AMQP", "amqp://host/orders", address="orders") == ["protocolsettings.address"]


def test_all_settings():
    given = {
        "address": "/queues/orders",
        "linkname": "headrace",
        "sendersettlementmode": "settled",
        "linkproperties": {"product": "headrace", "version": 1, "ratio": 0.5, "durable": True},
        "mode": "structured",
    }
    assert settings_of("AMQP", "amqp://host", **given) == given


@pytest.mark.parametrize(
    ("setting", "path"),
    [
        ({"address": ""}, "address"),
        ({"address": 7}, "address"),
        ({"linkname": ""}, "linkname"),
        ({"sendersettlementmode": "mixed"}, "sendersettlementmode"),
        ({"linkproperties": []}, "linkproperties"),
        ({"linkproperties": {"ä": 1}}, "linkproperties.ä"),
        ({"linkproperties": {"x": None}}, "linkproperties.x"),
        ({"linkproperties": {"x": {}}}, "linkproperties.x"),
        ({"mode": "batched"}, "mode"),
    ],
)
def test_bad_values(setting, path):
    assert paths_of("AMQP", "amqp://host/orders", **setting) == [f"protocolsettings.{path}"]


def test_unknown_settings_are_refused_with_the_known_ones():
    ((path, problem),) = faults_of("AMQP", "amqp://host/orders", queue="orders")
    assert path == "protocolsettings.queue"
    assert (
        problem == "unknown setting; AMQP has: address, linkname, linkproperties, mode, sendersettlementmode"
    )


@pytest.mark.parametrize(
    "sink", ["http://host/a", "amqp:///a", "amqp://a,b/c", "amqp://u:p@host/a", "amqp://h/a?b=c"]
)
def test_bad_sinks(sink):
    assert paths_of("AMQP", sink) == ["sink"]
