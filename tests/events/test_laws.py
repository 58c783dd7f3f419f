"""What must hold for every event: nothing is lost on any way through, and nothing but our errors comes out."""

import base64
import json
import pickle
import string
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import (
    OFFICIAL,
    Arrival,
    AttributeValue,
    DataKind,
    Event,
    Recorded,
    faults,
    from_batch,
    json_format,
    to_batch,
)
from headrace.events.bindings import http, kafka


def allowed(character: str) -> bool:
    code = ord(character)
    return not (0xFDD0 <= code <= 0xFDEF or code & 0xFFFE == 0xFFFE)


TEXT = st.text(st.characters(exclude_categories=("Cc", "Cs")).filter(allowed), max_size=20)
FILLED = TEXT.filter(bool)
PATHS = st.text(string.ascii_letters + string.digits + "/:?#%-._~é€", min_size=1, max_size=20)
NAMES = st.text(string.ascii_lowercase + string.digits, min_size=1, max_size=12).filter(
    lambda name: name not in OFFICIAL and name != "data"
)
TIMES = (
    st.datetimes()
    .map(lambda moment: moment.strftime("%Y").rjust(4, "0") + moment.strftime("-%m-%dT%H:%M:%S"))
    .flatmap(
        lambda start: st.sampled_from(
            [f"{start}Z", f"{start}.10z", f"{start}.123456789+05:45", f"{start}-00:00"]
        )
    )
)
JSON_TYPES = st.sampled_from(["application/json", "text/json; charset=utf-8", "application/vnd.x+json"])
OTHER_TYPES = st.sampled_from(["text/plain", "image/png", 'text/xml; x="a b"'])
SCALARS: st.SearchStrategy[AttributeValue] = TEXT | st.booleans() | st.integers(-(2**31), 2**31 - 1)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=8,
)
TREES: st.SearchStrategy[AttributeValue] = (
    st.floats(allow_nan=False, allow_infinity=False)
    | st.lists(JSON_VALUES, max_size=3)
    | st.dictionaries(TEXT, JSON_VALUES)
)
DOCUMENTS = st.text(st.characters(codec="utf-8"))


@st.composite
def json_slices(draw: st.DrawFn) -> bytes:
    value = draw(JSON_VALUES)
    raw = json.dumps(
        value, indent=draw(st.sampled_from([None, 1])), ensure_ascii=draw(st.booleans())
    ).encode()
    return draw(st.sampled_from([raw, b'{"n": 1e400, "m":1.10 , "n":12345678901234567890123}']))


@st.composite
def attribute_sets(
    draw: st.DrawFn, extensions: st.SearchStrategy[AttributeValue]
) -> dict[str, AttributeValue]:
    attributes: dict[str, AttributeValue] = {
        "specversion": draw(st.sampled_from(["1.0", "0.3"])),
        "id": draw(FILLED),
        "source": draw(PATHS),
        "type": draw(FILLED),
    }
    optional = {"subject": FILLED, "time": TIMES}
    attributes |= draw(st.fixed_dictionaries({}, optional=optional))
    return attributes | draw(st.dictionaries(NAMES, extensions, max_size=4))


@st.composite
def binary_events(draw: st.DrawFn) -> Event:
    """Events as binary mode brings them: strings only, opaque data."""
    attributes = draw(attribute_sets(TEXT))
    media_type = draw(st.none() | JSON_TYPES | OTHER_TYPES)
    if media_type is None:
        return Event(attributes, draw(st.none() | st.binary(min_size=1)))
    return Event({**attributes, "datacontenttype": media_type}, draw(st.binary()))


@st.composite
def structured_events(draw: st.DrawFn) -> Event:
    """Events as structured mode brings them: typed extensions, data as slice, text or base64."""
    attributes = draw(attribute_sets(SCALARS))
    if attributes["specversion"] == "0.3":
        attributes |= draw(st.dictionaries(NAMES, TREES, max_size=2))
    kind = draw(st.sampled_from([None, *DataKind]))
    if kind is None:
        return Event(attributes)
    if kind is DataKind.JSON:
        attributes |= draw(st.fixed_dictionaries({}, optional={"datacontenttype": JSON_TYPES}))
        return Event(attributes, draw(json_slices()), kind)
    attributes["datacontenttype"] = draw(OTHER_TYPES)
    if kind is DataKind.TEXT:
        return Event(attributes, draw(DOCUMENTS).encode(), kind)
    if attributes["specversion"] == "0.3":
        return Event(
            {**attributes, "datacontentencoding": "base64"},
            base64.b64encode(draw(st.binary())),
            DataKind.TEXT,
        )
    return Event(attributes, draw(st.binary()), kind)


EVENTS = binary_events() | structured_events()


def decode(message: http.HttpMessage) -> list[Event]:
    return http.decode(
        [(name.encode("ascii"), value.encode("ascii")) for name, value in message.headers], message.body
    )


def same(left: Event, right: Event) -> bool:
    """Equal, and of equal types too: in Python `True == 1`."""
    types = {name: type(value) for name, value in left.attributes.items()}
    return left == right and types == {name: type(value) for name, value in right.attributes.items()}


@given(EVENTS)
def test_generated_events_are_valid(event):
    assert faults(event.attributes) == []


@given(binary_events())
def test_binary_there_and_back(event):
    (back,) = decode(http.encode_binary(event))
    assert same(back, event)


@given(structured_events())
def test_structured_there_and_back(event):
    (back,) = decode(http.encode_structured(event))
    assert same(back, event)


@given(st.lists(structured_events(), max_size=4), st.sampled_from(["1.0", "0.3"]))
def test_batched_there_and_back(events, version):
    chosen = [event for event in events if event.specversion == version]
    back = decode(http.encode_batch(chosen))
    assert len(back) == len(chosen)
    assert all(map(same, back, chosen))


@given(binary_events())
def test_binary_survives_a_detour_through_structured_mode(event):
    """Data that is JSON may lose blanks around it there, and opaque bytes their being opaque; nothing else."""
    (detour,) = decode(http.encode_structured(event))
    (back,) = decode(http.encode_binary(detour))
    assert back.attributes == event.attributes
    assert (back.data or b"").strip(b" \t\r\n") == (event.data or b"").strip(b" \t\r\n")


@given(structured_events())
def test_structured_keeps_attributes_and_data_through_binary_mode(event):
    (back,) = decode(http.encode_binary(event))
    kept = {name: value for name, value in event.attributes.items() if isinstance(value, str)}
    if "datacontentencoding" in kept:
        del kept["datacontentencoding"]
        assert back.data == base64.b64decode(event.data or b"")
    else:
        assert (back.data or b"") == (event.data or b"")
    assert kept.items() <= back.attributes.items()


@given(st.lists(st.tuples(EVENTS, FILLED, FILLED, st.none() | TEXT, st.none() | TEXT), max_size=5), st.data())
def test_columns_there_and_back(rows, data):
    arrivals = [Arrival(*row) for row in rows]
    first = data.draw(st.integers(0, 2**62))
    moment = data.draw(st.integers(-(2**62), 2**62))
    batch = to_batch(arrivals, first, moment)
    expected = [Recorded(first + index, moment, arrival) for index, arrival in enumerate(arrivals)]
    assert from_batch(batch) == expected
    assert all(same(a.event, b.event) for a, b in zip(from_batch(batch), expected, strict=True))
    start = data.draw(st.integers(0, len(arrivals)))
    assert from_batch(batch.slice(start)) == expected[start:]


@given(EVENTS)
def test_pickled_there_and_back(event):
    assert same(pickle.loads(pickle.dumps(event)), event)


@given(json_slices(), st.none() | JSON_TYPES)
def test_slices_survive(raw, media_type):
    attributes: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    if media_type is not None:
        attributes["datacontenttype"] = media_type
    body = json.dumps(attributes).encode()[:-1] + b' , "data" : ' + raw + b"\n}"
    event = json_format.decode(body)
    assert event.data == raw
    assert http.encode_binary(event).body == raw
    assert json_format.decode(json_format.encode(event)).data == raw


CONTENT_TYPES = st.sampled_from(
    [
        b"application/cloudevents+json",
        b"application/cloudevents-batch+json",
        b"application/json",
        b"text/plain; a",
    ]
)
HEADER_NAMES = st.sampled_from(
    [b"ce-id", b"CE-Source", b"ce-type", b"ce-specversion", b"ce-time", b"content-type"]
)
MEMBERS = st.sampled_from(
    [
        "specversion",
        "id",
        "source",
        "type",
        "time",
        "datacontenttype",
        "datacontentencoding",
        "data",
        "data_base64",
        "x",
    ]
)
VALUES = JSON_VALUES | st.sampled_from(["1.0", "0.3", "base64", "text/plain", "YQ=="])


def must_not_crash(headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    try:
        events = http.decode(headers, body)
    except (InvalidEvent, UnsupportedFormat):
        return
    for event in events:
        assert faults(event.attributes) == []
        decode(http.encode_binary(event))
        decode(http.encode_structured(event))
    assert [
        recorded.event for recorded in from_batch(to_batch([Arrival(e, "n", "c") for e in events], 0, 0))
    ] == events


@given(st.lists(st.tuples(HEADER_NAMES | st.binary(), CONTENT_TYPES | st.binary()), max_size=8), st.binary())
def test_arbitrary_messages(headers, body):
    must_not_crash(headers, body)


@given(CONTENT_TYPES, st.binary())
def test_arbitrary_bodies(content_type, body):
    must_not_crash([(b"content-type", content_type)], body)


@given(st.dictionaries(MEMBERS | st.text(max_size=3), VALUES))
def test_arbitrary_objects(members):
    must_not_crash([(b"content-type", b"application/cloudevents+json")], json.dumps(members).encode())


@given(st.dictionaries(MEMBERS, VALUES), st.sampled_from(["1.0", "0.3"]))
def test_arbitrary_members_beside_valid_ones(members, version):
    required = {"specversion": version, "id": "1", "source": "/s", "type": "t"}
    must_not_crash(
        [(b"content-type", b"application/cloudevents+json")], json.dumps({**members, **required}).encode()
    )


@given(st.lists(st.dictionaries(MEMBERS, VALUES) | JSON_VALUES, max_size=3))
def test_arbitrary_batches(elements):
    must_not_crash([(b"content-type", b"application/cloudevents-batch+json")], json.dumps(elements).encode())


@given(st.data(), structured_events())
def test_damaged_documents(data, event):
    body = bytearray(json_format.encode(event))
    for _ in range(data.draw(st.integers(1, 3))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    must_not_crash([(b"content-type", b"application/cloudevents+json")], bytes(body))


@pytest.mark.parametrize("levels", [10, 500, 900, 990, 1000, 5000])
@pytest.mark.parametrize("member", ["data", "x", "data_base64", "id"])
@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_nesting_never_crashes(levels, member, version):
    head = json.dumps({"specversion": version, "source": "/s", "type": "t"}).encode()[:-1]
    body = head + f', "{member}": '.encode() + b"[" * levels + b"]" * levels + b', "id": "1"}'
    must_not_crash([(b"content-type", b"application/cloudevents+json")], body)
    must_not_crash([(b"content-type", b"application/cloudevents-batch+json")], b"[" + body + b"]")


@given(EVENTS)
def test_kafka_records_there_and_back(event):
    message = kafka.encode(event)
    assert same(kafka.decode(message.headers, message.value), event)
    assert message.value == event.data
