import base64
import json
from typing import Any

import msgspec
import pytest

from headrace.errors import InvalidEvent
from headrace.events import DataKind, Event, json_format

V1: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
V03: dict[str, Any] = {**V1, "specversion": "0.3"}


def document(members: dict[str, Any], base: dict[str, Any] = V1) -> bytes:
    return json.dumps({**base, **members}).encode()


def with_data(raw: bytes, datacontenttype: str | None = None, base: dict[str, Any] = V1) -> bytes:
    head = document({} if datacontenttype is None else {"datacontenttype": datacontenttype}, base)
    return head[:-1] + b', "data":' + raw + b"}"


def decode(members: dict[str, Any], base: dict[str, Any] = V1) -> Event:
    return json_format.decode(document(members, base))


def faults_of(body: bytes) -> tuple[str, ...]:
    with pytest.raises(InvalidEvent) as caught:
        json_format.decode(body)
    return caught.value.faults


SLICES = [
    b'{"b": 1.10, "a" :  [1e400, 12345678901234567890, -0.0],\n\t"b": 2}',
    b'"I\'m just a \\u00e9 string"',
    b"null",
    b"true",
    b"[]",
    b"1E+2",
    b'{"\xc3\xa9": "\xf0\x9f\x98\x80\\ud83d\\ude00"}',
]


@pytest.mark.parametrize("version", [V1, V03])
@pytest.mark.parametrize(
    "media_type", [None, "application/json", "text/json; charset=utf-8", "application/x+json"]
)
@pytest.mark.parametrize("raw", SLICES)
def test_json_data_is_the_slice_it_was(raw, media_type, version):
    event = json_format.decode(with_data(raw, media_type, version))
    assert (event.data, event.data_kind) == (raw, DataKind.JSON)
    written = json_format.encode(event)
    assert b'"data":' + raw + b"}" in written
    assert json_format.decode(written) == event


def test_attributes_stay_as_they_were():
    members = {
        "time": "2018-04-05t17:31:00.10+00:00",
        "flag": False,
        "count": -7,
        "text": "é\u2028",
        "subject": "x",
    }
    event = decode(members)
    assert event.attributes == {**V1, **members}
    assert type(event.attributes["flag"]) is bool
    assert type(event.attributes["count"]) is int
    assert json.loads(json_format.encode(event)) == {**V1, **members}


@pytest.mark.parametrize("version", ["1.0", "0.3"])
def test_the_version_is_never_changed(version):
    event = decode({"specversion": version})
    assert event.specversion == version
    assert json.loads(json_format.encode(event))["specversion"] == version


def test_null_attributes_are_absent():
    event = decode({"subject": None, "ext": None, "time": None, "data_base64": None})
    assert event == Event(V1)
    assert faults_of(document({"id": None})) == ("attribute 'id' is missing",)


def test_null_data_is_a_payload_only_where_json_is():
    assert decode({"data": None}).data == b"null"
    assert decode({}).data is None
    assert decode({"data": None, "datacontenttype": "text/plain"}).data is None
    assert decode({"data": None, "data_base64": "YQ=="}) == Event(V1, b"a")


def test_a_string_under_another_media_type_is_text():
    event = decode({"datacontenttype": "text/xml", "data": '<a b="é"/>\n'})
    assert (event.data, event.data_kind) == ('<a b="é"/>\n'.encode(), DataKind.TEXT)
    assert json.loads(json_format.encode(event))["data"] == '<a b="é"/>\n'
    assert json_format.decode(json_format.encode(event)) == event


def test_an_object_under_another_media_type_stays_json():
    event = json_format.decode(with_data(b'{"a": 1.0}', "text/xml"))
    assert (event.data, event.data_kind) == (b'{"a": 1.0}', DataKind.JSON)
    assert json_format.decode(json_format.encode(event)) == event


@pytest.mark.parametrize("media_type", [None, "image/png", "application/json"])
def test_data_base64(media_type):
    declared = {} if media_type is None else {"datacontenttype": media_type}
    event = decode({**declared, "data_base64": "AP8="})
    assert (event.data, event.data_kind) == (b"\x00\xff", DataKind.BYTES)
    written = json.loads(json_format.encode(event))
    assert written["data_base64"] == "AP8="
    assert "data" not in written


def test_empty_bytes_are_data():
    event = decode({"data_base64": ""})
    assert event.data == b""
    assert json.loads(json_format.encode(event))["data_base64"] == ""


@pytest.mark.parametrize("body", [b' {"a" : 1.10}\n', b"1e400", b'"x"', b"null"])
def test_bytes_that_are_declared_json_and_are_json_are_spliced(body):
    written = json_format.encode(Event({**V1, "datacontenttype": "application/json"}, body))
    assert body in written
    assert b"data_base64" not in written
    assert json_format.decode(written).data == body.strip()


@pytest.mark.parametrize(
    ("media_type", "body"),
    [
        ("application/json", b"{"),
        ("application/json", b""),
        ("application/json", b'"\xff"'),
        ("application/json", b"1 2"),
        ("application/json", b'1,"id":"2"'),
        ("application/json", b"[" * 100_000 + b"]" * 100_000),
        (None, b"{}"),
        ("text/plain", b"text"),
    ],
)
def test_other_bytes_become_base64(media_type, body):
    event = Event(V1 if media_type is None else {**V1, "datacontenttype": media_type}, body)
    assert base64.b64decode(json.loads(json_format.encode(event))["data_base64"]) == body
    assert json_format.decode(json_format.encode(event)) == event


def test_base64_of_0_3_stays_text():
    event = decode({"datacontentencoding": "Base64", "datacontenttype": "image/png", "data": "AP\r\n8="}, V03)
    assert (event.data, event.data_kind) == (b"AP\r\n8=", DataKind.TEXT)
    assert json_format.decode(json_format.encode(event)) == event


def test_base64_of_0_3_is_not_json_even_under_json():
    event = decode(
        {"datacontentencoding": "base64", "datacontenttype": "application/json", "data": "e30="}, V03
    )
    assert (event.data, event.data_kind) == (b"e30=", DataKind.TEXT)


def test_datacontentencoding_means_nothing_in_1_0():
    event = decode({"datacontentencoding": "base64", "data": "not base64"})
    assert (event.data, event.data_kind) == (b'"not base64"', DataKind.JSON)


@pytest.mark.parametrize(
    ("attributes", "body", "expected"),
    [
        ({"datacontenttype": "application/json"}, b'{"a":1.10}', {"data": {"a": 1.1}}),
        ({"datacontenttype": "text/plain"}, "é".encode(), {"data": "é"}),
        ({"datacontenttype": "image/png"}, b"\xff", {"data": "/w==", "datacontentencoding": "base64"}),
        (
            {"datacontenttype": "text/plain; charset=utf-16"},
            b"a\x00",
            {"data": "YQA=", "datacontentencoding": "base64"},
        ),
        ({}, b"text", {"data": "dGV4dA==", "datacontentencoding": "base64"}),
        ({"datacontenttype": "application/json"}, b"{", {"data": "ew==", "datacontentencoding": "base64"}),
        ({"datacontentencoding": "base64", "datacontenttype": "application/json"}, b"{}", {"data": "e30="}),
    ],
)
def test_bytes_of_0_3_gain_an_attribute_only_when_they_must(attributes, body, expected):
    given = {**V03, **attributes}
    assert json.loads(json_format.encode(Event(given, body))) == {**given, **expected}


def test_extensions_of_0_3_may_be_any_json():
    members = {"a": {"b": [1, 2.5, None]}, "c": [True]}
    event = decode(members, V03)
    assert event.attributes["a"] == {"b": [1, 2.5, None]}
    assert json_format.decode(json_format.encode(event)) == event


@pytest.mark.parametrize("body", [b"[]", b"5", b'"x"', b"null", b"true"])
def test_an_event_is_an_object(body):
    assert faults_of(body) == ("an event must be a JSON object",)


@pytest.mark.parametrize(
    "body",
    [
        b" ",
        b"{",
        b"{}x",
        b"\xef\xbb\xbf{}",
        b"{'id': 1}",
        with_data(b"{"),
        with_data(b"01"),
        with_data(b'"\\ud800"'),
    ],
)
def test_the_body_is_json(body):
    (fault,) = faults_of(body)
    assert "not readable JSON" in fault


def test_the_body_is_not_empty():
    assert faults_of(b"") == ("the body is empty",)


@pytest.mark.parametrize("raw", [b'"\xff"', b'{"a": "\xc0\xa0"}', b'"\xed\xa0\x80"'])
def test_the_body_is_utf_8(raw):
    (fault,) = faults_of(with_data(raw))
    assert "not UTF-8" in fault


@pytest.mark.parametrize("base", [V1, V03])
def test_deep_nesting_is_refused(base):
    deep = b"[" * 100_000 + b"]" * 100_000
    assert len(faults_of(with_data(deep, base=base))) == 1
    assert len(faults_of(document({}, base)[:-1] + b',"ext":' + deep + b"}")) == 1


@pytest.mark.parametrize(
    "members",
    [
        {"data": 1, "data_base64": "YQ=="},
        {"data": "x", "data_base64": "YQ==", "datacontenttype": "text/plain"},
    ],
)
def test_data_and_data_base64_exclude_each_other(members):
    assert faults_of(document(members)) == ("'data' and 'data_base64' exclude each other",)


@pytest.mark.parametrize("value", [5, {"a": 1}, ["YQ=="], True])
def test_data_base64_is_a_string(value):
    (fault,) = faults_of(document({"data_base64": value}))
    assert "must be a string of base64" in fault


@pytest.mark.parametrize("value", ["?", "YQ", "YQ=", "YQ===", "Y Q==", "YQ==\n", "-_-_", "é"])
def test_data_base64_is_base64(value):
    (fault,) = faults_of(document({"data_base64": value}))
    assert "is not base64" in fault


@pytest.mark.parametrize("value", ["?", "YQ", 5, None, {"a": 1}])
def test_base64_of_0_3_is_checked(value):
    (fault,) = faults_of(document({"datacontentencoding": "base64", "data": value}, V03))
    assert "base64" in fault


def test_data_base64_is_not_of_0_3():
    (fault,) = faults_of(document({"data_base64": "YQ=="}, V03))
    assert "0.3" in fault


def test_every_fault_of_attributes_and_data_is_listed():
    body = (
        b'{"specversion": "1.0", "id": 1, "source": "", "x": 1e400, "datacontenttype": 7, "data_base64": "?"}'
    )
    found = faults_of(body)
    assert [fault.split("'")[1] for fault in found] == [
        "x",
        "type",
        "id",
        "source",
        "datacontenttype",
        "data_base64",
    ]


def test_batches():
    events = [Event(V1), Event({**V1, "n": 1}, b"[1.10]", DataKind.JSON), Event({**V1, "id": "3"}, b"\xff")]
    assert json_format.decode_batch(json_format.encode_batch(events)) == events
    assert json_format.decode_batch(b" [ ] ") == []
    assert json_format.encode_batch([]) == b"[]"


def batch_faults(body: bytes) -> tuple[str, ...]:
    with pytest.raises(InvalidEvent) as caught:
        json_format.decode_batch(body)
    return caught.value.faults


def test_faults_of_a_batch_name_the_event():
    good = document({})
    body = b"[" + b",".join([good, b"5", good, document({"id": "", "type": 1})]) + b"]"
    assert batch_faults(body) == (
        "event 1: an event must be a JSON object",
        "event 3: attribute 'id' must not be empty: ''",
        "event 3: attribute 'type' must be a string, not an integer: 1",
    )


@pytest.mark.parametrize("body", [document({}), b"5", b"null"])
def test_a_batch_is_an_array(body):
    assert batch_faults(body) == ("a batch must be a JSON array",)


@pytest.mark.parametrize("body", [b"[", b"[{]", b"[{},]", b"", b"[" * 100_000, b'["\xff"]'])
def test_a_batch_is_json(body):
    assert len(batch_faults(body)) == 1


def test_a_written_batch_has_one_version():
    with pytest.raises(ValueError, match="specversion"):
        json_format.encode_batch([Event(V1), Event(V03)])


def test_a_mixed_batch_is_read():
    assert len(json_format.decode_batch(b"[" + document({}) + b"," + document({}, V03) + b"]")) == 2


# Faults without end


def test_a_batch_of_many_faulty_events_tells_of_few_and_counts_the_others():
    with pytest.raises(InvalidEvent) as caught:
        json_format.decode_batch(b"[" + b",".join([b'{"a":1}'] * 400_000) + b"]")
    error = caught.value
    assert len(error.faults) == 20
    assert (error.faults[0], error.more) == ("event 0: attribute 'specversion' is missing", 1000 * 4 - 20)
    assert error.unexamined == 399_000
    assert "and 3,980 more; 399,000 more events were not looked at" in str(error)
    assert len(str(error)) < 4000


@pytest.mark.parametrize("count", [1, 5, 999])
def test_of_a_batch_of_usual_length_all_faults_are_counted(count):
    faulty = b'{"specversion":"1.0","id":"1","source":"/s"}'
    good = b'{"specversion":"1.0","id":"1","source":"/s","type":"t"}'
    with pytest.raises(InvalidEvent) as caught:
        json_format.decode_batch(b"[" + b",".join([good] * 3000 + [faulty] * count) + b"]")
    assert caught.value.faults[0] == "event 3000: attribute 'type' is missing"
    assert len(caught.value.faults) + caught.value.more == count
    assert caught.value.unexamined == 0


@pytest.mark.parametrize(
    "text", [b"%s,", b",%s", b"%s,,%s", b"%s,1", b"%s,{", b"%s]", b"%s}", b"%s%s", b"%s,]", b"%s,  "]
)
def test_a_long_batch_is_read_as_strictly_as_a_short_one(text):
    good = b",".join([b'{"specversion":"1.0","id":"1","source":"/s","type":"t"}'] * 2000)
    body = b"[" + text.replace(b"%s", good) + b"]"
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(body, type=list[dict[str, Any]])
    with pytest.raises(InvalidEvent):
        json_format.decode_batch(body)


def test_where_a_long_batch_breaks_is_said_of_the_whole():
    good = b",".join([b'{"specversion":"1.0","id":"1","source":"/s","type":"t"}'] * 3000)
    body = b"[" + good + b",x]"
    with pytest.raises(InvalidEvent, match=rf"byte {body.index(b'x')}\)"):
        json_format.decode_batch(body)


def test_attributes_without_end_are_refused_unchecked():
    many = {f"a{number}": 1 for number in range(1001)}
    with pytest.raises(InvalidEvent, match="1005 attributes are more than the limit of 1000") as caught:
        json_format.decode(
            msgspec.json.encode({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", **many})
        )
    assert len(caught.value.faults) == 1


@pytest.mark.parametrize("start", ["[", " \n[", '{"a":['])
def test_large_nested_attributes_are_not_even_read(monkeypatch, start):
    """Making hundreds of thousands of objects holds the event loop for up to a tenth of a second."""
    read, read_value = [], json_format._read_value

    def noted(raw):
        read.append(bytes(raw))
        return read_value(raw)

    monkeypatch.setattr(json_format, "_read_value", noted)
    nested = f"{start}{'[],' * 30_000}1]{'}' * start.count('{')}"
    body = document({})[:-1] + f',"a":{nested}}}'.encode()
    with pytest.raises(InvalidEvent, match="arrays or objects have 9000"):
        json_format.decode(body)
    assert all(len(each) < 100 for each in read)


def test_large_nested_attributes_are_refused_unchecked():
    required = {"specversion": "0.3", "id": "1", "source": "/s", "type": "t"}
    assert json_format.decode(msgspec.json.encode(required | {"a": [1] * 30_000})).id == "1"
    with pytest.raises(InvalidEvent, match="65536"):
        json_format.decode(msgspec.json.encode(required | {"a": [1] * 40_000}))
