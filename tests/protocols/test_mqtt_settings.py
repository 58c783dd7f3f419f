import pytest
from tests.protocols.proposals import faults_of, paths_of, settings_of

SINK = "mqtt://host:1883"


@pytest.mark.parametrize(("protocol", "mode"), [("MQTT3", "structured"), ("MQTT5", "binary")])
@pytest.mark.parametrize("sink", [SINK, "mqtts://host", "mqtt://[::1]:1883/"])
def test_defaults(protocol, mode, sink):
    kept = settings_of(protocol, sink, topicname="orders/new")
    assert kept == {"topicname": "orders/new", "qos": 1, "retain": False, "mode": mode}


@pytest.mark.parametrize("protocol", ["MQTT3", "MQTT5"])
@pytest.mark.parametrize("topic", ["", "a/+", "a/#", "#", "a\x00", 7, None, "x" * 65_536])
def test_bad_topics(protocol, topic):
    assert paths_of(protocol, SINK, topicname=topic) == ["protocolsettings.topicname"]


def test_a_topic_is_required_and_no_path_stands_for_it():
    assert faults_of("MQTT5", "mqtt://host/orders") == [
        ("sink", "has a path; protocolsettings.topicname is the place for it"),
        ("protocolsettings.topicname", "is required"),
    ]


@pytest.mark.parametrize("setting", [{"qos": 3}, {"qos": -1}, {"qos": "1"}, {"qos": True}, {"retain": 1}])
def test_bad_values(setting):
    assert paths_of("MQTT3", SINK, topicname="t", **setting) == [f"protocolsettings.{next(iter(setting))}"]


@pytest.mark.parametrize("setting", ["expiry", "userproperties"])
def test_what_only_mqtt5_has(setting):
    ((path, problem),) = faults_of("MQTT3", SINK, topicname="t", **{setting: 1})
    assert path == f"protocolsettings.{setting}"
    assert problem == "unknown setting; MQTT3 has: mode, qos, retain, topicname"
    assert paths_of("MQTT3", SINK, topicname="t", mode="binary") == ["protocolsettings.mode"]


def test_the_settings_of_mqtt5():
    given = {
        "topicname": "t",
        "qos": 2,
        "retain": True,
        "expiry": 60,
        "userproperties": {"team": "shop"},
        "mode": "structured",
    }
    assert settings_of("MQTT5", SINK, **given) == given


@pytest.mark.parametrize(
    ("properties", "path"),
    [
        ([], ""),
        ({"": "x"}, "."),
        ({"id": "x"}, ".id"),
        ({"team": 7}, ".team"),
        ({"team": "x" * 65_536}, ".team"),
        ({"team": "\x00"}, ".team"),
    ],
)
def test_bad_user_properties(properties, path):
    assert paths_of("MQTT5", SINK, topicname="t", userproperties=properties) == [
        f"protocolsettings.userproperties{path}"
    ]


@pytest.mark.parametrize("expiry", [0, -1, 2**32, 1.5, "60"])
def test_bad_expiry(expiry):
    assert paths_of("MQTT5", SINK, topicname="t", expiry=expiry) == ["protocolsettings.expiry"]


@pytest.mark.parametrize("sink", ["tcp://host:1883", "mqtt://a,b", "mqtt://u@a", "mqtt://a?x=1", "mqtt:a"])
def test_bad_addresses(sink):
    assert paths_of("MQTT5", sink, topicname="t") == ["sink"]
