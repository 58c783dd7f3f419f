"""What is read from MQTT messages of others; that events arrive as they are is in the delivery's contract."""

import msgspec
import pytest

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import json_format
from headrace.events.bindings.mqtt import decode, encode_binary, encode_structured
from headrace.events.event import DataKind, Event

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@pytest.mark.parametrize(
    "event",
    [
        Event(REQUIRED),
        Event(REQUIRED, b"x"),
        Event(REQUIRED | {"datacontenttype": "text/plain"}, b""),
        Event(REQUIRED | {"subject": "grün", "time": "2026-01-01T00:00:00.10Z"}, b"\0\xff"),
    ],
)
def test_there_and_back(event):
    for message in (encode_binary(event), encode_structured(event)):
        assert decode(message.content_type, message.user_properties, message.payload) == event


def test_attributes_have_no_prefix_and_are_text():
    message = encode_binary(Event(REQUIRED | {"flag": True, "count": -7, "datacontenttype": "a/b"}, b"x"))
    assert message.content_type == "a/b"
    assert dict(message.user_properties) == REQUIRED | {"flag": "true", "count": "-7"}


def test_a_document_as_data_leaves_in_structured_mode():
    event = Event(REQUIRED | {"datacontenttype": "application/cloudevents+json"}, b"{}")
    message = encode_binary(event)
    assert (message.content_type, message.user_properties) == (json_format.MEDIA_TYPE, [])
    assert msgspec.json.decode(message.payload)["data"] == {}
    assert decode(message.content_type, [], message.payload) == Event(event.attributes, b"{}", DataKind.JSON)


def test_the_content_type_may_be_repeated():
    properties = [*REQUIRED.items(), ("datacontenttype", "a/b")]
    assert decode("a/b", properties, b"").attributes == REQUIRED | {"datacontenttype": "a/b"}
    with pytest.raises(InvalidEvent, match="differ"):
        decode("a/c", properties, b"")


def test_every_fault_is_listed():
    with pytest.raises(InvalidEvent) as error:
        decode(None, [("specversion", "1.0"), ("id", "1"), ("id", "2"), ("source", "/s")], b"")
    assert len(error.value.faults) == 2
    with pytest.raises(UnsupportedFormat):
        decode("application/cloudevents-batch+json", [], b"[]")
