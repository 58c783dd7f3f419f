"""Messages as the CloudEvents NATS binding has them."""

import msgspec
import pytest
from hypothesis import given
from tests.events.test_laws import binary_events, same, structured_events

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events.bindings.nats import decode, encode_binary, encode_structured
from headrace.events.event import DataKind, Event

REQUIRED = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
HEADERS = {f"ce-{name}": value for name, value in REQUIRED.items()}


def test_binary_mode():
    event = Event(REQUIRED | {"datacontenttype": "application/json", "subject": 'Über "50%"', "n": 7}, b"{}")
    message = encode_binary(event)
    assert message.headers == HEADERS | {
        "ce-datacontenttype": "application/json",
        "ce-subject": "%C3%9Cber%20%2250%25%22",
        "ce-n": "7",
    }
    assert message.payload == b"{}"


def test_structured_mode():
    message = encode_structured(Event(REQUIRED, b'{"a": 1}', DataKind.JSON))
    assert message.headers == {"content-type": "application/cloudevents+json"}
    assert msgspec.json.decode(message.payload) == REQUIRED | {"data": {"a": 1}}


def test_data_that_is_itself_an_event_leaves_in_structured_mode():
    event = Event(REQUIRED | {"datacontenttype": "application/cloudevents+json"}, b"{}")
    assert encode_binary(event) == encode_structured(event)


def test_no_data_is_an_empty_message():
    message = encode_binary(Event(REQUIRED))
    assert (message.headers, message.payload) == (HEADERS, b"")
    assert decode(message.headers, message.payload) == Event(REQUIRED)


@given(binary_events())
def test_binary_there_and_back(event):
    message = encode_binary(event)
    assert same(decode(message.headers, message.payload), event)


@given(structured_events())
def test_structured_there_and_back(event):
    message = encode_structured(event)
    assert same(decode(message.headers, message.payload), event)


@pytest.mark.parametrize(
    ("headers", "fault"),
    [
        ({}, "specversion"),
        (HEADERS | {"ce-subject": "%FF"}, "not UTF-8"),
        ({"content-type": "application/cloudevents+json"}, "empty"),
    ],
)
def test_what_is_no_event(headers, fault):
    with pytest.raises(InvalidEvent, match=fault):
        decode(headers, b"")


def test_a_batch_is_not_one_event():
    with pytest.raises(UnsupportedFormat, match="one event per message"):
        decode({"content-type": "application/cloudevents-batch+json"}, b"[]")
