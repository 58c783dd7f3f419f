import pytest
from tests.protocols.proposals import faults_of, paths_of, settings_of


@pytest.mark.parametrize("sink", ["nats://host:4222", "tls://host", "nats://a:1,b:2", "nats://host/"])
def test_defaults(sink):
    kept = settings_of("NATS", sink, subject="orders.new")
    assert kept == {"subject": "orders.new", "jetstream": False, "mode": "binary"}


def test_all_settings():
    given = {"subject": "orders", "jetstream": True, "mode": "structured"}
    assert settings_of("NATS", "nats://host", **given) == given


@pytest.mark.parametrize(
    "subject", ["", "a b", "a.*", "a.>", ".a", "a.", "a..b", "a\tb", "a\r\nPUB x", "*", 7, None, "x" * 1025]
)
def test_bad_subjects(subject):
    assert paths_of("NATS", "nats://host", subject=subject) == ["protocolsettings.subject"]


def test_a_subject_is_required_and_no_path_stands_for_it():
    assert faults_of("NATS", "nats://host/orders") == [
        ("sink", "has a path; protocolsettings.subject is the place for it"),
        ("protocolsettings.subject", "is required"),
    ]


@pytest.mark.parametrize("setting", [{"jetstream": "yes"}, {"mode": "batched"}, {"queue": "q"}])
def test_bad_values(setting):
    assert paths_of("NATS", "nats://host", subject="s", **setting) == [
        f"protocolsettings.{next(iter(setting))}"
    ]


@pytest.mark.parametrize("sink", ["http://host", "nats:host", "nats://token@host", "nats://a,", "ws://host"])
def test_bad_sinks(sink):
    assert paths_of("NATS", sink, subject="s") == ["sink"]
