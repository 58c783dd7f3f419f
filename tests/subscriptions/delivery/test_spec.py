import pytest

from headrace.subscriptions.delivery.spec import (
    BackoffPolicy,
    DeliverySpec,
    Ordering,
    check_delivery,
    resolve,
)

DEFAULTS = DeliverySpec(
    retry=10, backoff_policy=BackoffPolicy.EXPONENTIAL, backoff_delay=0.5, timeout=10.0, retry_after_max=None,
    dead_letter_sink=None, ordering=Ordering.UNORDERED, concurrency=16, rate=None, batch_size=None, batch_age=0.2,
)  # fmt: skip
EVERYTHING = {
    "retry": 3, "backoffPolicy": "linear", "backoffDelay": "PT2S", "timeout": "PT1M", "retryAfterMax": "P1D",
    "deadLetterSink": {"uri": "https://example.com/dead"}, "format": "json", "ordering": "partitionkey",
    "concurrency": 4, "rate": 100, "batch": {"size": 50, "age": "PT0.5S"},
}  # fmt: skip


def test_everything_that_can_be_said():
    assert check_delivery(EVERYTHING, "delivery") == []
    assert resolve(EVERYTHING, None, DEFAULTS) == DeliverySpec(
        retry=3, backoff_policy=BackoffPolicy.LINEAR, backoff_delay=2.0, timeout=60.0, retry_after_max=86400.0,
        dead_letter_sink="https://example.com/dead", ordering=Ordering.PARTITIONKEY, concurrency=4, rate=100.0,
        batch_size=50, batch_age=0.5, format="json",
    )  # fmt: skip


def test_what_is_left_open_has_the_defaults():
    assert resolve(None, None, DEFAULTS) == DEFAULTS
    spec = resolve({"retry": 0, "batch": {"size": 9}}, None, DEFAULTS)
    assert (spec.retry, spec.batch_size, spec.batch_age, spec.timeout) == (0, 9, 0.2, 10.0)


def test_a_subscription_s_object_replaces_its_channel_s_whole():
    of_channel = {"retry": 1, "timeout": "PT5S"}
    assert resolve(None, of_channel, DEFAULTS).timeout == 5.0
    spec = resolve({"retry": 2}, of_channel, DEFAULTS)
    assert (spec.retry, spec.timeout) == (2, 10.0), "nothing of the channel's is left"
    assert resolve({}, of_channel, DEFAULTS) == DEFAULTS, "an empty one replaces it too"


def test_format_overrides_the_protocol_s_mode():
    settings = {"mode": "structured", "method": "POST"}
    assert resolve({}, None, DEFAULTS).settings("HTTP", settings) == settings
    assert resolve({"format": "binary"}, None, DEFAULTS).settings("HTTP", settings) == settings | {
        "mode": "binary"
    }
    batched = resolve({"batch": {"size": 5, "age": "PT1S"}}, None, DEFAULTS)
    assert batched.settings("HTTP", settings) == settings | {"mode": "batched"}
    assert batched.settings("KAFKA", settings) == settings, "only HTTP has batches"
    assert [batched.batch(mode) for mode in ("batched", "structured")] == [5, 1]
    assert DEFAULTS.batch("batched") > 1, "the mode alone asks for batches"
    assert resolve({"format": "json"}, None, DEFAULTS).settings("NATS", {"mode": "binary"}) == {
        "mode": "structured"
    }


@pytest.mark.parametrize(
    ("document", "path"),
    [
        ({"retry": -1}, "retry"), ({"retry": 1001}, "retry"), ({"retry": True}, "retry"), ({"retry": "3"}, "retry"),
        ({"backoffPolicy": "random"}, "backoffPolicy"), ({"backoffPolicy": []}, "backoffPolicy"),
        ({"backoffDelay": 5}, "backoffDelay"), ({"backoffDelay": "P1Y"}, "backoffDelay"),
        ({"backoffDelay": "P1DT1S"}, "backoffDelay"),
        ({"timeout": "PT0S"}, "timeout"), ({"timeout": "PT1H1S"}, "timeout"),
        ({"retryAfterMax": "P2D"}, "retryAfterMax"),
        ({"deadLetterSink": "http://a/"}, "deadLetterSink"), ({"deadLetterSink": {}}, "deadLetterSink.uri"),
        ({"deadLetterSink": {"uri": "ftp://a/"}}, "deadLetterSink.uri"),
        ({"deadLetterSink": {"uri": "http://me:pass@a/"}}, "deadLetterSink.uri"),
        ({"deadLetterSink": {"ref": {"name": "x"}}}, "deadLetterSink.ref"),
        ({"deadLetterSink": {"uri": "http://a/", "audience": "x"}}, "deadLetterSink.audience"),
        ({"format": "avro"}, "format"), ({"ordering": "sorted"}, "ordering"),
        ({"concurrency": 0}, "concurrency"), ({"rate": 0}, "rate"), ({"rate": "5"}, "rate"), ({"rate": 1e9}, "rate"),
        ({"batch": 5}, "batch"), ({"batch": {"age": "PT1S"}}, "batch"), ({"batch": {"size": 0}}, "batch.size"),
        ({"batch": {"size": 5, "age": "PT2M"}}, "batch.age"), ({"batch": {"size": 5, "bytes": 1}}, "batch.bytes"),
        ({"ordering": "ordered", "concurrency": 2}, "concurrency"),
        ({"format": "binary", "batch": {"size": 2}}, "batch"),
        ({"retries": 5}, "retries"),
    ],
)  # fmt: skip
def test_what_is_refused_and_where(document, path):
    [(found, problem)] = check_delivery(document, "config.delivery")
    assert found == f"config.delivery.{path}"
    assert problem


def test_every_fault_is_listed_and_unknown_members_with_the_known_ones():
    faults = check_delivery({"retry": -1, "nonsense": 1, "rate": 0}, "delivery")
    assert [path for path, _ in faults] == ["delivery.nonsense", "delivery.retry", "delivery.rate"]
    assert "backoffDelay" in faults[0][1]
    assert check_delivery([], "delivery")[0][0] == "delivery"


def test_what_this_version_can_t_read_has_the_default():
    assert resolve({"retry": "many", "new": 1, "timeout": "PT5S"}, None, DEFAULTS).timeout == 5.0
