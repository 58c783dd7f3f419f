"""What is read from AMQP messages of others; that events arrive as they are is in the delivery's contract."""

import pytest

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events.bindings.amqp import decode, encode_binary, encode_structured
from headrace.events.event import Event

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@pytest.mark.parametrize(
    "event",
    [
        Event(REQUIRED),
        Event(REQUIRED, b""),
        Event(REQUIRED | {"datacontenttype": "text/plain"}, b"x"),
        Event(REQUIRED | {"flag": False, "count": -7, "n": "7", "time": "2026-01-01T00:00:00.10Z"}, b"\0"),
    ],
)
def test_there_and_back(event):
    for message in (encode_binary(event), encode_structured(event)):
        assert decode(message.content_type, message.properties, message.body) == event


@pytest.mark.parametrize("prefix", ["cloudEvents_", "cloudEvents:"])
def test_both_prefixes_are_read_and_other_properties_are_not(prefix):
    properties = {prefix + name: value for name, value in REQUIRED.items()} | {
        "x-opt-a": 1,
        "cloudEvents": "x",
    }
    assert decode("a/b", properties, b"x") == Event(REQUIRED | {"datacontenttype": "a/b"}, b"x")


def test_one_prefix_is_written():
    message = encode_binary(Event(REQUIRED | {"datacontenttype": "a/b"}))
    assert message.properties == {f"cloudEvents_{name}": value for name, value in REQUIRED.items()}
    assert (message.content_type, message.body) == ("a/b", None)


def test_every_fault_is_listed():
    properties = {"cloudEvents_id": "1", "cloudEvents:id": "1", "cloudEvents_datacontenttype": "a/b"}
    with pytest.raises(InvalidEvent) as error:
        decode(None, properties, None)
    said = "\n".join(error.value.faults)
    assert "both prefixes" in said
    assert "content-type" in said
    assert "'source' is missing" in said
    with pytest.raises(UnsupportedFormat):
        decode("application/cloudevents-batch+json", {}, b"[]")
