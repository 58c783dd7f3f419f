import pytest
from tests.protocols.proposals import faults_of, paths_of, settings_of

DEFAULTS = {"acks": "all", "mode": "binary"}


@pytest.mark.parametrize(
    "sink",
    [
        "kafka://host:9092",
        "kafkas://a:1,b:2",
        "kafka://[::1]:9092,[2001:db8::1]",
        "kafka://host/",
        "kafka://host",
    ],
)
def test_the_topic_in_the_settings(sink):
    assert settings_of("KAFKA", sink, topicname="orders") == {"topicname": "orders", **DEFAULTS}


def test_the_topic_in_the_address():
    assert settings_of("KAFKA", "kafka://a:1,b:2/orders.eu_1-x") == {"topicname": "orders.eu_1-x", **DEFAULTS}
    assert settings_of("KAFKA", "kafka://a/orders", topicname="orders") == {"topicname": "orders", **DEFAULTS}


def test_a_topic_is_required_once():
    assert faults_of("KAFKA", "kafka://a:1") == [
        ("protocolsettings.topicname", "is required, unless the sink ends with /topic")
    ]
    assert paths_of("KAFKA", "kafka://a:1/orders", topicname="refunds") == ["sink"]


@pytest.mark.parametrize("topic", ["", ".", "..", "a b", "a/b", "ä", "x" * 250, 7, None, "a\n"])
def test_bad_topics(topic):
    assert paths_of("KAFKA", "kafka://a:1", topicname=topic) == ["protocolsettings.topicname"]
    if isinstance(topic, str) and topic.isprintable() and " " not in topic and topic:
        assert paths_of("KAFKA", f"kafka://a:1/{topic}") == ["sink"]


@pytest.mark.parametrize(
    "sink",
    [
        "http://host/",
        "kafka:host:9092",
        "kafka://",
        "kafka://a:1,",
        "kafka://a:1,,b:2",
        "kafka://a:x/t",
        "kafka://a:0/t",
        "kafka://a:1/t?acks=0",
        "kafka://a:1/t#x",
        "kafka://user:secret@a:1/t",
        "kafka://a:1,user:secret@b:1/t",
        "KAFKA",
    ],
)
def test_bad_addresses(sink):
    ((path, problem),) = faults_of("KAFKA", sink, topicname="t")
    assert path == "sink"
    assert "secret" not in problem
    assert ("use sinkCredential" in problem) == ("@" in sink)


@pytest.mark.parametrize(
    ("acks", "kept"),
    [("all", "all"), ("1", "1"), ("0", "0"), (1, "1"), (0, "0"), (-1, "all"), ("-1", "all")],
)
def test_acks(acks, kept):
    assert settings_of("KAFKA", "kafka://a/t", acks=acks)["acks"] == kept


@pytest.mark.parametrize("acks", ["ALL", 2, True, None, 1.5, [1], ""])
def test_bad_acks(acks):
    assert paths_of("KAFKA", "kafka://a/t", acks=acks) == ["protocolsettings.acks"]


def test_unknown_settings_are_refused_with_the_known_ones():
    ((path, problem),) = faults_of("KAFKA", "kafka://a/t", topic="t")
    assert path == "protocolsettings.topic"
    assert problem == (
        "unknown setting; KAFKA has: acks, clientid, mode, partitionkeyextractor, saslmechanism, topicname"
    )


def test_the_other_settings():
    given = {
        "partitionkeyextractor": "subject",
        "clientid": "shop",
        "saslmechanism": "SCRAM-SHA-512",
        "mode": "structured",
    }
    assert settings_of("KAFKA", "kafka://a/t", **given) == {"topicname": "t", "acks": "all", **given}
    assert paths_of("KAFKA", "kafka://a/t", mode="batched", clientid="", saslmechanism="MD5") == [
        "protocolsettings.clientid",
        "protocolsettings.saslmechanism",
        "protocolsettings.mode",
    ]
