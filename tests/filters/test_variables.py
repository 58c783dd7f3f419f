import base64

import pytest

from headrace.events.event import DataKind, Event
from headrace.events.recorded import Arrival, Recorded
from headrace.filters import compile_filter
from headrace.filters.variables import variables_of

NOTHING = object()


def event(data=None, kind=DataKind.BYTES, **attributes):
    required = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
    return Event(attributes=required | attributes, data=data, data_kind=kind)


def data_of(*arguments, **attributes):
    return variables_of(event(*arguments, **attributes)).get("data", NOTHING)


def test_data_is_parsed_where_the_content_type_is_json_or_not_stated():
    assert data_of(b'{"a": 1}') == {"a": 1}
    for media_type in (
        "application/json",
        "text/json; charset=utf-8",
        "application/vnd.x+json",
        "Application/JSON",
    ):
        assert data_of(b'{"a": 1}', datacontenttype=media_type) == {"a": 1}
    for other in ("text/plain", "application/xml", "", "json", 7):
        assert data_of(b'{"a": 1}', datacontenttype=other) is NOTHING
    assert data_of(b'{"a": 1}', DataKind.JSON) == {"a": 1}


def test_any_json_value_is_data():
    assert data_of(b"null") is None
    assert data_of(b" [1, 2.0] ") == [1, 2.0]
    assert data_of(b'"x"') == "x"
    assert data_of(b"false") is False


@pytest.mark.parametrize(
    "data",
    [None, b"", b"{", b'{"a": }', b"NaN", b"[1,]", b"1 2", b'"\xff"', b'"\\ud800"', b"[" * 5000 + b"]" * 5000,
     b"[1e400, NaN]", b'[1e400, "\\ud800"]', b"01"],
)  # fmt: skip
def test_what_is_not_json_is_unknown(data):
    assert data_of(data) is NOTHING
    assert not compile_filter({"cel": "has(data.a)"}).matches(event(data))
    assert not compile_filter({"cel": "!has(data.a)"}).matches(event(data))


def test_data_may_nest_a_hundred_levels():
    def nested(levels):
        return event(b'{"a":' * levels + b"1" + b"}" * levels)

    whole = compile_filter({"cel": "data != 1 && size(data.a) == 1"})
    assert whole.matches(nested(100))
    assert not whole.matches(nested(101))
    assert not whole.matches(nested(900))
    assert compile_filter({"cel": "size(data) == 1000"}).matches(
        event(b"[" + b",".join([b"[]"] * 1000) + b"]")
    )


def test_the_base64_of_an_old_event_is_what_it_stands_for():
    text = base64.b64encode(b'{"a": 1}')
    old = {"specversion": "0.3", "datacontentencoding": "base64", "datacontenttype": "application/json"}
    assert data_of(text, DataKind.TEXT, **old) == {"a": 1}


def test_numbers():
    def holds(text, data):
        return compile_filter({"cel": text}).matches(event(data))

    assert holds("type(data) == int", b"9223372036854775807")
    assert holds("type(data) == int", b"-9223372036854775808")
    assert holds("type(data) == double", b"9223372036854775808")
    assert holds("type(data.x[0]) == double", b'{"x": [18446744073709551617]}')
    assert holds("data.x[0] == 18446744073709551616.0", b'{"x": [18446744073709551617]}')
    assert holds("data.x.all(y, type(y) == double)", b'{"x": [18446744073709551617, 1e400]}')
    assert holds("type(data) == double", b"1.0")
    assert holds("type(data) == double", b"1e2")
    assert holds("data > 1e308", b"1e400")
    assert holds("data < -1e308", b"-" + b"9" * 400)


TIMES = [
    ("1970-01-01T00:00:00Z", 0),
    ("1970-01-01T00:00:00.0015Z", 1),
    ("1969-12-31T23:59:59.9999Z", -1),
    ("2020-01-01T01:30:00+01:30", 1_577_836_800_000),
    ("2016-12-31T23:59:60Z", 1_483_228_800_000),
    ("9999-12-31T23:59:59.999999999Z", 253_402_300_799_999),
    ("yesterday", NOTHING),
    ("", NOTHING),
    (7, NOTHING),
]


@pytest.mark.parametrize(("time", "expected"), TIMES)
def test_event_time_in_milliseconds(time, expected):
    assert variables_of(event(time=time)).get("eventTime", NOTHING) == expected


def test_only_the_log_knows_channel_and_publish_time():
    bare = variables_of(event())
    assert set(bare) == {"ce"}
    recorded = variables_of(Recorded(3, 1_600_000_000_123_456, Arrival(event(b"1"), "acme", "orders")))
    assert dict(recorded) == {
        "ce": {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"},
        "data": 1,
        "collection": "orders",
        "tenant": "acme",
        "publishTime": 1_600_000_000_123,
    }
    assert len(recorded) == 5
    assert "position" not in recorded
