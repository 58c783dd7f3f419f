from typing import Any

import pytest

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.events import DataKind, Event
from headrace.events.bindings import http
from headrace.events.bindings.http import Mode

V1: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
V03: dict[str, Any] = {**V1, "specversion": "0.3"}
REQUIRED = [(b"ce-specversion", b"1.0"), (b"ce-id", b"1"), (b"ce-source", b"/s"), (b"ce-type", b"t")]


def decode_one(headers: list[tuple[bytes, bytes]], body: bytes = b"") -> Event:
    (event,) = http.decode(headers, body)
    return event


def decode_message(message: http.HttpMessage) -> list[Event]:
    return http.decode(
        [(name.encode("ascii"), value.encode("ascii")) for name, value in message.headers], message.body
    )


def faults_of(headers: list[tuple[bytes, bytes]], body: bytes = b"") -> tuple[str, ...]:
    with pytest.raises(InvalidEvent) as caught:
        http.decode(headers, body)
    return caught.value.faults


@pytest.mark.parametrize(
    ("content_type", "mode"),
    [
        (None, Mode.BINARY),
        ("", Mode.BINARY),
        ("application/json", Mode.BINARY),
        ("text/plain; x=application/cloudevents+json", Mode.BINARY),
        ("application/cloudevents+json", Mode.STRUCTURED),
        ("Application/CloudEvents+JSON ; charset=UTF-8", Mode.STRUCTURED),
        ('application/cloudevents+json;charset="utf-8"', Mode.STRUCTURED),
        ("application/cloudevents-batch+json", Mode.BATCHED),
        ("application/cloudevents-batch+json; charset=utf-8", Mode.BATCHED),
    ],
)
def test_modes(content_type, mode):
    assert http.mode_of(content_type) is mode


@pytest.mark.parametrize(
    "content_type",
    [
        "application/cloudevents",
        "application/cloudevents+xml",
        "application/cloudevents+avro",
        "application/cloudevents-batch",
        "application/cloudevents-batch+protobuf",
        "application/cloudevents+json; charset=utf-16",
        "application/cloudevents-batch+json; charset=iso-8859-1",
        "application/cloudevents-stream+json",
    ],
)
def test_unsupported_formats(content_type):
    with pytest.raises(UnsupportedFormat) as caught:
        http.decode([(b"Content-Type", content_type.encode())], b"{}")
    assert caught.value.given in content_type
    assert "application/cloudevents+json" in caught.value.supported


def test_a_long_unsupported_format_is_cut():
    with pytest.raises(UnsupportedFormat) as caught:
        http.mode_of("application/cloudevents" + "x" * 100_000)
    assert len(caught.value.given) <= 60


def test_binary():
    headers = [
        (b"Host", b"x"),
        (b"CE-SpecVersion", b"1.0"),
        (b"Ce-Id", b"1"),
        (b"ce-source", b" /s\t"),
        (b"CE-TYPE", b"t"),
        (b"ce-time", b"2018-04-05t17:31:00.10+00:00"),
        (b"ce-count", b"5"),
        (b"content-Type", b"Application/JSON;  charset=UTF-8"),
    ]
    event = decode_one(headers, b"\x00 not json")
    assert event.attributes == {
        **V1,
        "time": "2018-04-05t17:31:00.10+00:00",
        "count": "5",
        "datacontenttype": "Application/JSON;  charset=UTF-8",
    }
    assert (event.data, event.data_kind) == (b"\x00 not json", DataKind.BYTES)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (b"Euro%20%E2%82%AC%20%F0%9F%98%80", "Euro € 😀"),
        (b"%e2%82%ac", "€"),
        (b"%41", "A"),
        (b"%2541", "%41"),
        (b"100%", "100%"),
        (b"%zz", "%zz"),
        (b'"quoted"', "quoted"),
        (b'"a \\"b\\" \\\\ c"', 'a "b" \\ c'),
        (b'"%22x%22"', '"x"'),
        (b'"a%5Cb"', "a\\b"),
        (b'""', ""),
        (b'"', '"'),
        (b'"open', '"open'),
        (b'a"b"', 'a"b"'),
        ("bare €".encode(), "bare €"),
        (b"", ""),
    ],
)
def test_header_values(value, text):
    assert decode_one([*REQUIRED, (b"ce-ext", value)]).attributes["ext"] == text


@pytest.mark.parametrize("value", [b"%C0%A0", b"%ff", b"\xff", b"%ED%A0%80", b"%E2%82", b'"%FF"'])
def test_header_values_are_utf_8(value):
    (fault,) = faults_of([*REQUIRED, (b"ce-ext", value)])
    assert "'ce-ext' is not UTF-8" in fault


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("Euro € 😀", "Euro%20%E2%82%AC%20%F0%9F%98%80"),
        ('"%"', "%22%25%22"),
        ("!#$&'()*+,-./:;<=>?@[\\]^_`{|}~", "!#$&'()*+,-./:;<=>?@[\\]^_`{|}~"),
        ("\xa0", "%C2%A0"),
        (True, "true"),
        (-5, "-5"),
    ],
)
def test_header_values_are_written_percent_encoded(text, value):
    message = http.encode_binary(Event({**V1, "ext": text}))
    assert ("ce-ext", value) in message.headers


def test_control_characters_are_refused_behind_percent_encoding():
    (fault,) = faults_of([*REQUIRED, (b"ce-ext", b"a%0D%0Ab")])
    assert "U+000D" in fault


def test_missing_headers_are_all_listed():
    assert faults_of([(b"content-type", b"text/plain")], b"x") == tuple(
        f"attribute '{name}' is missing" for name in ("specversion", "id", "source", "type")
    )


def test_every_fault_is_listed():
    found = faults_of(
        [
            (b"ce-specversion", b"1.0"),
            (b"ce-id", b""),
            (b"ce-id", b"2"),
            (b"ce-source", b"a%20b"),
            (b"ce-type", b"%ff"),
            (b"ce-datacontenttype", b"text/plain"),
            (b"ce-foo-bar", b"x"),
            (b"ce-data", b"x"),
            (b"ce-", b"x"),
            (b"ce-\xff", b"x"),
            (b"content-type", b"nonsense"),
        ]
    )
    assert [fault.split(":")[0] for fault in found] == [
        "header 'ce-id' stands more than once",
        "header 'ce-type' is not UTF-8",
        "header 'ce-datacontenttype' is not allowed",
        "attribute 'source' must be a URI reference, without blanks and any of <>\"{}|\\^`",
        "attribute 'datacontenttype' must be a media type such as application/json",
        "attribute 'foo-bar' has a name with characters other than a-z and 0-9",
        "attribute 'data' can't be an extension",
        "attribute '' has a name with characters other than a-z and 0-9",
        "attribute 'ÿ' has a name with characters other than a-z and 0-9",
    ]


def test_duplicates_differ_in_case_too():
    assert faults_of([*REQUIRED, (b"Ce-Type", b"t")]) == ("header 'ce-type' stands more than once",)


def test_ce_datacontenttype_gets_a_hint():
    (fault,) = faults_of([*REQUIRED, (b"ce-datacontenttype", b"text/plain")])
    assert "Content-Type" in fault


def test_two_content_types_are_refused():
    content_types = [
        (b"content-type", b"application/json"),
        (b"Content-Type", b"application/cloudevents+json"),
    ]
    assert faults_of([*REQUIRED, *content_types]) == ("header 'content-type' stands 2 times",)


def test_an_empty_body_is_data_only_under_a_content_type():
    assert decode_one(REQUIRED).data is None
    assert decode_one([*REQUIRED, (b"content-type", b"text/plain")]).data == b""
    assert decode_one(REQUIRED, b"x").data == b"x"


@pytest.mark.parametrize("base", [V1, V03])
def test_the_version_is_never_changed(base):
    for encode in (http.encode_binary, http.encode_structured, lambda event: http.encode_batch([event])):
        (event,) = decode_message(encode(Event(base)))
        assert event.specversion == base["specversion"]


def test_a_media_type_is_gained_only_by_json_that_implied_it():
    assert "content-type" not in dict(http.encode_binary(Event(V1, b"x")).headers)
    assert "content-type" not in dict(http.encode_binary(Event(V1)).headers)
    implied = http.encode_binary(Event(V1, b"1.10", DataKind.JSON))
    assert ("content-type", "application/json") in implied.headers
    assert implied.body == b"1.10"


def test_the_media_type_is_verbatim():
    event = Event({**V1, "datacontenttype": 'Text/Plain;  x="a b"'}, b"")
    message = http.encode_binary(event)
    assert ("content-type", 'Text/Plain;  x="a b"') in message.headers
    assert decode_message(message) == [event]


def test_text_leaves_as_utf_8():
    event = Event({**V1, "datacontenttype": "text/plain"}, "é".encode(), DataKind.TEXT)
    assert http.encode_binary(event).body == b"\xc3\xa9"


def test_base64_of_0_3_leaves_as_the_bytes_it_means():
    attributes = {**V03, "datacontenttype": "image/png"}
    event = Event({**attributes, "datacontentencoding": "base64"}, b"AP8=", DataKind.TEXT)
    assert decode_message(http.encode_binary(event)) == [Event(attributes, b"\x00\xff")]


def test_bytes_of_0_3_survive_a_detour_through_structured_mode():
    event = Event({**V03, "datacontenttype": "image/png"}, b"\x00\xff")
    (detour,) = decode_message(http.encode_structured(event))
    assert decode_message(http.encode_binary(detour)) == [event]


def test_binary_0_3_keeps_an_idle_datacontentencoding():
    event = Event({**V03, "datacontentencoding": "base64"}, b"\x00\xff")
    assert decode_message(http.encode_binary(event)) == [event]


def test_broken_base64_of_a_made_event_leaves_as_it_is():
    event = Event({**V03, "datacontentencoding": "base64"}, b"?", DataKind.TEXT)
    assert http.encode_binary(event).body == b"?"


@pytest.mark.parametrize(
    "content_type",
    ["application/cloudevents+json", "application/cloudevents-batch+json", "application/cloudevents+xml"],
)
def test_an_event_about_an_event_leaves_in_structured_mode(content_type):
    event = Event({**V1, "datacontenttype": content_type}, b'{"id": "inner"}', DataKind.JSON)
    message = http.encode_binary(event)
    assert message.headers == [("content-type", "application/cloudevents+json")]
    assert decode_message(message) == [event]


def test_structured():
    event = Event({**V1, "count": 5, "flag": True}, b'{"a": 1.10}', DataKind.JSON)
    message = http.encode_structured(event)
    assert message.headers == [("content-type", "application/cloudevents+json")]
    assert decode_message(message) == [event]


def test_structured_mode_does_not_look_at_ce_headers():
    headers = [(b"content-type", b"application/cloudevents+json"), (b"ce-id", b"%ff"), (b"ce-id", b"2")]
    body = b'{"specversion":"1.0","id":"1","source":"/s","type":"t"}'
    assert decode_one(headers, body) == Event(V1)


def test_batched():
    events = [Event(V1), Event({**V1, "id": "2"}, b"\xff")]
    message = http.encode_batch(events)
    assert message.headers == [("content-type", "application/cloudevents-batch+json")]
    assert decode_message(message) == events
    assert decode_message(http.encode_batch([])) == []


def test_faults_of_a_batch_name_the_event():
    assert faults_of([(b"content-type", b"application/cloudevents-batch+json")], b"[1]") == (
        "event 0: an event must be a JSON object",
    )


def test_long_headers_are_cut_in_faults():
    (fault,) = faults_of([*REQUIRED, (b"ce-ext", b"%ff" * 100_000)])
    assert len(fault) < 200
