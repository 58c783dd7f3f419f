import io
from typing import Any

import pyarrow as pa
import pytest

from headrace.events import SCHEMA, Arrival, DataKind, Event, Recorded, from_batch, to_batch

V1: dict[str, Any] = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
FULL = {
    **V1,
    "subject": "x",
    "time": "2018-04-05t17:31:00.10+00:00",
    "datacontenttype": "a/b",
    "dataschema": "urn:x",
    "text": "5",
    "flag": False,
    "count": -5,
}
V03 = {
    **V1,
    "specversion": "0.3",
    "schemaurl": "s",
    "datacontentencoding": "base64",
    "tree": {"a": [1.5, None]},
    "f": 2.0,
}

ARRIVALS = [
    Arrival(Event(V1), "ns", "ch"),
    Arrival(Event(FULL, b"", DataKind.BYTES), "ns", "other", "00-abc", "k=v"),
    Arrival(Event(V03, b"AP8=", DataKind.TEXT), "ns", "ch"),
    Arrival(Event(V1, b"1.10", DataKind.JSON), "ns", "ch"),
]
RECORDED = [Recorded(41 + index, 1_700_000_000_000_001, arrival) for index, arrival in enumerate(ARRIVALS)]


def batch() -> pa.RecordBatch:
    return to_batch(ARRIVALS, 41, 1_700_000_000_000_001)


def test_columns():
    assert SCHEMA.names == [
        *("position", "publish_time", "namespace", "channel", "traceparent", "tracestate"),
        *("specversion", "id", "source", "type", "subject", "time", "datacontenttype", "dataschema"),
        *("extensions", "extension_types", "data", "data_kind"),
    ]
    assert batch().schema.equals(SCHEMA)
    batch().validate(full=True)


def test_cells():
    row = batch().to_pylist()[1]
    assert row["position"] == 42
    assert row["publish_time"].isoformat() == "2023-11-14T22:13:20.000001+00:00"
    assert (row["channel"], row["traceparent"], row["tracestate"]) == ("other", "00-abc", "k=v")
    assert row["time"] == "2018-04-05t17:31:00.10+00:00"
    assert row["extensions"] == [("text", "5"), ("flag", "false"), ("count", "-5")]
    assert row["extension_types"] == [("flag", "boolean"), ("count", "integer")]
    assert (row["data"], row["data_kind"]) == (b"", 0)
    row = batch().to_pylist()[2]
    assert ("tree", '{"a":[1.5,null]}') in row["extensions"]
    assert ("schemaurl", "s") in row["extensions"]
    assert row["extension_types"] == [("tree", "json"), ("f", "json")]


def test_there_and_back():
    back = from_batch(batch())
    assert back == RECORDED
    assert [recorded.event for recorded in back] == [arrival.event for arrival in ARRIVALS]
    values = back[1].event.attributes
    assert [type(values[name]) for name in ("text", "flag", "count")] == [str, bool, int]
    assert type(back[2].event.attributes["f"]) is float
    assert back[0].event.data is None
    assert back[1].event.data == b""


@pytest.mark.parametrize(("start", "length"), [(0, 2), (1, 2), (2, 1), (3, 1), (1, 0), (4, 0)])
def test_slices(start, length):
    assert from_batch(batch().slice(start, length)) == RECORDED[start : start + length]


def test_through_a_file():
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, SCHEMA) as writer:
        writer.write_batch(batch().slice(1, 2))
    (read,) = pa.ipc.open_stream(sink.getvalue())
    assert from_batch(read) == RECORDED[1:3]


def test_nothing():
    assert from_batch(to_batch([], 7, 0)) == []
    assert from_batch(pa.RecordBatch.from_pylist([], schema=SCHEMA)) == []
