"""The official SDK as the other end: it understands what we write, and we what it writes."""

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from cloudevents.core.base import BaseCloudEvent
from cloudevents.core.bindings import http as sdk
from cloudevents.core.v03.event import CloudEvent as CloudEvent03
from cloudevents.core.v1.event import CloudEvent

from headrace.events import DataKind, Event
from headrace.events.bindings import http

TIME = datetime(2018, 4, 5, 17, 31, 0, 123456, UTC)
TIME_TEXT = "2018-04-05T17:31:00.123456Z"
COMMON: dict[str, Any] = {
    "id": "A 1",
    "source": "/ünï/✓",
    "type": "com.example",
    "subject": 'a "b" 100%',
    "ext": "€ 😀",
}
MAKERS: dict[str, Callable[[dict[str, Any], Any], BaseCloudEvent]] = {"1.0": CloudEvent, "0.3": CloudEvent03}

versions = pytest.mark.parametrize("version", ["1.0", "0.3"])


def theirs(version: str, attributes: dict[str, Any], data: Any) -> BaseCloudEvent:
    return MAKERS[version]({**COMMON, **attributes, "specversion": version, "time": TIME}, data)


def ours(
    version: str, attributes: dict[str, Any], data: bytes | None, kind: DataKind = DataKind.BYTES
) -> Event:
    return Event({**COMMON, "specversion": version, "time": TIME_TEXT, **attributes}, data, kind)


def receive(message: sdk.HTTPMessage) -> list[Event]:
    return http.decode(
        [(name.encode(), value.encode()) for name, value in message.headers.items()], message.body
    )


def send(message: http.HttpMessage) -> sdk.HTTPMessage:
    return sdk.HTTPMessage(dict(message.headers), message.body)


def attributes_of(event: BaseCloudEvent) -> dict[str, Any]:
    return (
        {**event.get_attributes(), "time": TIME_TEXT} if event.get_time() == TIME else event.get_attributes()
    )


JSON_DATA = {"a": [1, 2.5, None], "é": "€"}
JSON_BYTES = json.dumps(JSON_DATA).encode()


@versions
@pytest.mark.parametrize(
    ("attributes", "data", "body"),
    [
        ({"datacontenttype": "application/json"}, JSON_DATA, JSON_BYTES),
        ({"datacontenttype": "text/plain; charset=utf-8"}, "text é", "text é".encode()),
        ({"datacontenttype": "image/png"}, b"\x00\xff", b"\x00\xff"),
        ({}, None, None),
    ],
)
def test_we_read_its_binary_messages(version, attributes, data, body):
    message = sdk.to_binary_event(theirs(version, attributes, data))
    assert receive(message) == [ours(version, attributes, body)]


@versions
@pytest.mark.parametrize(
    ("attributes", "data", "body", "kind"),
    [
        ({"datacontenttype": "application/json"}, JSON_DATA, JSON_BYTES, DataKind.JSON),
        ({"count": 5, "flag": True}, JSON_DATA, JSON_BYTES, DataKind.JSON),
        ({"datacontenttype": "text/plain"}, "text é", "text é".encode(), DataKind.TEXT),
        ({}, None, None, DataKind.BYTES),
    ],
)
def test_we_read_its_structured_messages(version, attributes, data, body, kind):
    message = sdk.to_structured_event(theirs(version, attributes, data))
    assert receive(message) == [ours(version, attributes, body, kind)]


def test_we_read_its_base64():
    png = {"datacontenttype": "image/png"}
    message = sdk.to_structured_event(theirs("1.0", png, b"\x00\xff"))
    assert receive(message) == [ours("1.0", png, b"\x00\xff")]
    message = sdk.to_structured_event(theirs("0.3", png, b"\x00\xff"))
    assert receive(message) == [ours("0.3", {**png, "datacontentencoding": "base64"}, b"AP8=", DataKind.TEXT)]


def test_we_read_batches_of_its_documents():
    events = [theirs("1.0", {"n": n}, {"n": n}) for n in range(3)]
    body = b"[" + b", ".join(sdk.to_structured_event(event).body for event in events) + b"]"
    message = sdk.HTTPMessage({"Content-Type": "application/cloudevents-batch+json; charset=UTF-8"}, body)
    assert receive(message) == [ours("1.0", {"n": n}, b'{"n": %d}' % n, DataKind.JSON) for n in range(3)]


CASES = [
    (ours("1.0", {"datacontenttype": "application/json"}, JSON_BYTES), JSON_DATA),
    (ours("1.0", {"datacontenttype": "application/json"}, JSON_BYTES, DataKind.JSON), JSON_DATA),
    (ours("1.0", {"datacontenttype": "text/plain"}, "é".encode(), DataKind.TEXT), "é"),
    (ours("1.0", {"datacontenttype": "image/png"}, b"\x00\xff"), b"\x00\xff"),
    (ours("1.0", {}, None), None),
    (ours("0.3", {"datacontenttype": "application/json"}, JSON_BYTES), JSON_DATA),
    (ours("0.3", {"datacontenttype": "text/plain"}, "é".encode()), "é"),
    (ours("0.3", {"schemaurl": "/x"}, None), None),
]


@pytest.mark.parametrize(("event", "data"), CASES)
def test_it_reads_our_binary_messages(event, data):
    read = sdk.from_http_event(send(http.encode_binary(event)))
    assert attributes_of(read) == event.attributes
    assert read.get_data() == data


@pytest.mark.parametrize(("event", "data"), CASES)
def test_it_reads_our_structured_messages(event, data):
    read = sdk.from_http_event(send(http.encode_structured(event)))
    assert attributes_of(read) == event.attributes
    assert read.get_data() == data


def test_it_reads_our_types():
    event = ours("1.0", {"count": 5, "flag": True}, None)
    structured = sdk.from_http_event(send(http.encode_structured(event)))
    assert (structured.get_extension("count"), structured.get_extension("flag")) == (5, True)
    binary = sdk.from_http_event(send(http.encode_binary(event)))
    assert (binary.get_extension("count"), binary.get_extension("flag")) == ("5", "true")


def test_it_reads_our_base64_of_0_3():
    plain = ours("0.3", {"datacontenttype": "image/png"}, b"\x00\xff")
    spelled = ours(
        "0.3", {"datacontenttype": "image/png", "datacontentencoding": "base64"}, b"AP8=", DataKind.TEXT
    )
    for event in (plain, spelled):
        read = sdk.from_http_event(send(http.encode_structured(event)))
        assert attributes_of(read) == spelled.attributes
        assert read.get_data() == b"\x00\xff"
        read = sdk.from_http_event(send(http.encode_binary(event)))
        assert attributes_of(read) == plain.attributes
        assert read.get_data() == b"\x00\xff"


def test_it_reads_the_documents_of_our_batches():
    events = [event for event, _ in CASES if event.specversion == "1.0"]
    documents = json.loads(http.encode_batch(events).body)
    for document, (event, data) in zip(documents, CASES, strict=False):
        read = sdk.from_structured_event(sdk.HTTPMessage({}, json.dumps(document).encode()))
        assert attributes_of(read) == event.attributes
        assert read.get_data() == data


def test_we_keep_what_it_alters():
    """The reason why events don't pass through the SDK."""
    event = ours("1.0", {"time": "2018-04-05t17:31:00.10+00:00"}, b'{"n": 1.10}', DataKind.JSON)
    (kept,) = receive(send(http.encode_structured(event)))
    assert kept == event
    again = sdk.to_structured_event(sdk.from_http_event(send(http.encode_structured(event))))
    assert receive(again) != [event]
