"""Records as other programs write them; there and back is one of the laws."""

import msgspec
import pytest

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events.bindings.kafka import decode, encode, encode_binary, encode_structured, key_of
from headrace.events.event import DataKind, Event

REQUIRED = [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"/s"), ("ce_type", b"t")]
ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def test_a_binary_record():
    headers = [*REQUIRED, ("ce_subject", "grün".encode()), ("content-type", b"application/json"), ("x", None)]
    assert decode(headers, b"{}") == Event(
        ATTRIBUTES | {"subject": "grün", "datacontenttype": "application/json"}, b"{}"
    )


def test_no_data_is_a_null_value_and_empty_data_is_not():
    assert decode(REQUIRED, None).data is None
    assert decode(REQUIRED, b"").data == b""
    assert encode(Event(ATTRIBUTES)).value is None
    assert encode(Event(ATTRIBUTES, b"")).value == b""


def test_a_structured_record_of_another_producer():
    headers = [("Content-Type", b"application/cloudevents+json; charset=UTF-8")]
    value = msgspec.json.encode(ATTRIBUTES | {"count": 3, "data": {"a": 1}})
    event = decode(headers, value)
    assert event.attributes == ATTRIBUTES | {"count": 3}
    assert (event.data, event.data_kind) == (b'{"a":1}', DataKind.JSON)


def test_what_other_programs_see_of_a_typed_event():
    """Its header `headrace-form` means something only here."""
    event = Event(ATTRIBUTES | {"count": 3, "on": True}, b'{"a": 1}', DataKind.JSON)
    message = encode(event)
    theirs = [header for header in message.headers if header[0] != "headrace-form"]
    assert theirs == [*REQUIRED, ("ce_count", b"3"), ("ce_on", b"true")]
    assert decode(theirs, message.value).data == event.data


def test_data_that_is_itself_an_event():
    event = Event(ATTRIBUTES | {"datacontenttype": "application/cloudevents+json"}, b"{}")
    message = encode(event)
    assert decode(message.headers, message.value) == event


@pytest.mark.parametrize(
    ("headers", "fault"),
    [
        ([], "specversion"),
        (REQUIRED[1:], "specversion"),
        ([*REQUIRED, ("ce_id", b"2")], "more than once"),
        ([*REQUIRED, ("ce_subject", b"\xff")], "can't be read"),
        ([*REQUIRED, ("ce_datacontenttype", b"text/plain")], "belongs in content-type"),
        ([*REQUIRED, ("content-type", b"a/b"), ("content-type", b"a/b")], "2 times"),
        ([*REQUIRED, ("headrace-form", b"{")], "headrace-form"),
        ([*REQUIRED, ("ce_n", b"x"), ("headrace-form", b'{"types":{"n":"integer"}}')], "can't be read"),
        ([("content-type", b"application/cloudevents+json")], "empty"),
    ],
)
def test_what_is_no_event(headers, fault):
    with pytest.raises(InvalidEvent, match=fault):
        decode(headers, None)


def test_a_batch_is_not_one_event():
    with pytest.raises(UnsupportedFormat, match="one event per record"):
        decode([("content-type", b"application/cloudevents-batch+json")], b"[]")


def test_for_others_nothing_is_added():
    """No header of our own, and the media type that JSON of a structured event implied."""
    message = encode_binary(Event(ATTRIBUTES | {"count": 3}, b'{"a": 1}', DataKind.JSON))
    assert message.headers == [*REQUIRED, ("ce_count", b"3"), ("content-type", b"application/json")]
    assert message.value == b'{"a": 1}'
    assert encode_binary(Event(ATTRIBUTES)).value is None


def test_structured_for_others():
    message = encode_structured(Event(ATTRIBUTES | {"count": 3}, b'{"a": 1}', DataKind.JSON))
    assert message.headers == [("content-type", b"application/cloudevents+json")]
    assert decode(message.headers, message.value).attributes == ATTRIBUTES | {"count": 3}


def test_data_that_is_itself_an_event_leaves_in_structured_mode():
    event = Event(ATTRIBUTES | {"datacontenttype": "application/cloudevents+json"}, b"{}")
    assert encode_binary(event) == encode_structured(event)


def test_a_key_is_an_attribute_as_text():
    event = Event(ATTRIBUTES | {"partitionkey": "grün", "count": 3})
    assert key_of(event, "partitionkey") == "grün".encode()
    assert (key_of(event, "count"), key_of(event, "subject")) == (b"3", None)
