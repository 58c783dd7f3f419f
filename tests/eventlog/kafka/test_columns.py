"""The law of the columns: whatever stands in records, they are laid out as reading them one by one would."""

import string

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.events.test_laws import EVENTS

from headrace.errors import InvalidEvent, UnsupportedFormat
from headrace.eventlog.damage import Damage, raise_damage
from headrace.eventlog.kafka import columns
from headrace.eventlog.kafka.columns import RecordColumns
from headrace.eventlog.kafka.records import read_record, write_record
from headrace.eventlog.kafka.topics import Topic
from headrace.events.batch import SCHEMA, recorded_batch
from headrace.events.positions import offset_of, position_at
from headrace.events.recorded import Arrival, Recorded

SHARED, OWN = Topic("shared", None), Topic("own", "team-a")
FIRST = position_at(3, 7)
REQUIRED = [("ce_specversion", b"1.0"), ("ce_id", b"1"), ("ce_source", b"/s"), ("ce_type", b"t")]
TIME = "ce_time"
FORM = "headrace-form"

NAMES = st.sampled_from(
    [name for name, _ in REQUIRED]
    + [TIME, "ce_subject", "ce_datacontenttype", "ce_dataschema", "ce_schemaurl", "ce_n", "CE_N", "ce_A-b"]
    + ["ce_data", "ce_", "content-type", "Content-Type", FORM, "Headrace-Form", "x", "Traceparent"]
    + ["headrace-namespace", "headrace-channel", "tracestate"]
)
TEXTS = [
    "",
    "1.0",
    "0.3",
    "a b",
    "ä",
    "\x01",
    "\ufffe",
    "https://e/x",
    "2024-02-29T00:00:00Z",
    "2023-02-29T00:00:00Z",
]
TYPED = ["3", "03", " 3", "-0", "2147483648", "1.5", "true", "True", "null", '"s"', "[1]", "{"]
MEDIA_TYPES = ["text/plain", "no type", "application/cloudevents+json", "application/cloudevents-batch+json"]
FORMS = [
    b"{}",
    b'{"kind":1}',
    b'{"kind":9}',
    b"{",
    b'{"types":{"n":"integer"}}',
    b'{"types":{"n":"boolean","absent":"integer"}}',
    b'{"kind":2,"types":{"n":"json"}}',
    b'{"types":{"id":"integer"}}',
    b'{"types":{"n":"string"}}',
]
CONTENTS = (
    st.none()
    | st.sampled_from([text.encode() for text in TEXTS + TYPED + MEDIA_TYPES] + FORMS + [b"\xff"])
    | st.text(string.printable, max_size=6).map(str.encode)
)
CONTEXTS = st.tuples(
    st.sampled_from(["default", "team-b", ""]),
    st.sampled_from(["default", "ä"]),
    st.none() | st.just("00-trace"),
    st.none() | st.just("state"),
)
STRUCTURED = b'{"specversion":"1.0","id":"1","source":"/s","type":"t","data":{"a":1}}'


@st.composite
def written(draw):
    """A record as the ingress writes it."""
    message = write_record(Arrival(draw(EVENTS), *draw(CONTEXTS)))
    return message.headers, message.value


@st.composite
def broken(draw):
    """A record of ours in which somebody changed, added or dropped something."""
    headers, value = draw(written())
    headers = list(headers)
    for _ in range(draw(st.integers(1, 3))):
        at = draw(st.integers(0, len(headers)))
        if draw(st.booleans()):
            headers.insert(at, (draw(NAMES), draw(CONTENTS)))
        elif at < len(headers) and draw(st.booleans()):
            headers[at] = (headers[at][0], draw(CONTENTS))
        else:
            del headers[at : at + 1]
    return headers, value


foreign = st.tuples(
    st.lists(st.tuples(NAMES, CONTENTS), max_size=5).map(REQUIRED.__add__) | st.none(),
    st.sampled_from([None, b"", b"x", STRUCTURED]),
)
RECORDS = st.lists(written() | broken() | foreign, max_size=6)


def one_by_one(topic, records):
    recorded, told = [], []
    for position, milliseconds, headers, value in records:
        try:
            arrival = read_record(topic, headers, value)
        except (InvalidEvent, UnsupportedFormat) as error:
            where = f"record {offset_of(position)} of partition 4 of topic {topic.name!r}"
            told.append((position, f"{where} is no event: {error}"))
        else:
            recorded.append(Recorded(position, milliseconds * 1000, arrival))
    return recorded_batch(recorded), told


def agree(topic, records, fewest_rows=1):
    """Records are repeated, so that rows of one shape stand between others."""
    numbered = [(FIRST + n, 1_700_000_000_000 + n, *each) for n, each in enumerate(records * 3)]
    told: list[Damage] = []
    found = RecordColumns(topic, 4, fewest_rows).batch(numbered, told.append)
    wanted, problems = one_by_one(topic, numbered)
    found.validate(full=True)
    assert found.schema == SCHEMA
    assert found.to_pylist() == wanted.to_pylist()
    assert found.equals(wanted)
    assert [(each.start, each.problem) for each in told] == problems
    return found


@given(RECORDS, st.sampled_from([SHARED, OWN]), st.sampled_from([1, 4]))
@example([(None, b"x")], SHARED, 1)
@example([([*REQUIRED, ("content-type", b"application/cloudevents+json")], STRUCTURED)], OWN, 1)
def test_columns_are_what_rows_are(records, topic, fewest_rows):
    agree(topic, records, fewest_rows)


@pytest.mark.parametrize("form", [None, *FORMS])
@pytest.mark.parametrize(
    "name", ["ce_id", "ce_subject", TIME, "content-type", "ce_n", FORM, "headrace-channel"]
)
def test_every_content_in_every_column(name, form):
    """Beside valid records of the same names, so that some are taken and others aren't."""
    others = {TIME: b"2024-01-01T00:00:00Z", "content-type": b"text/plain", FORM: form or b"{}"}
    extra = [] if name == FORM or form is None else [(FORM, form)]
    headers = [header for header in REQUIRED if header[0] != name] + extra
    contents = [None, *map(str.encode, TEXTS + TYPED + MEDIA_TYPES), *FORMS, b"\xff", others.get(name, b"3")]
    agree(SHARED, [([*headers, (name, content)], b"{}") for content in contents])


def test_valid_records_are_not_read_one_by_one(monkeypatch):
    """Else all of this would be in vain, and no test would show it."""
    monkeypatch.setattr(columns, "read_record", None)
    form = (FORM, b'{"kind":1,"types":{"n":"integer"}}')
    headers = [
        *REQUIRED,
        ("ce_subject", "grün".encode()),
        (TIME, b"2024-02-29T00:00:00Z"),
        ("content-type", b"application/json"),
        ("ce_n", b"12"),
        form,
        ("headrace-channel", b"orders"),
    ]
    records = [(FIRST + n, 0, headers if n % 2 else REQUIRED, b"{}") for n in range(20)]
    found = RecordColumns(SHARED, 0).batch(records, raise_damage)
    assert found["position"].to_pylist() == [FIRST + n for n in range(20)]
    assert found["extensions"].to_pylist() == [[], [("n", "12")]] * 10
    assert found["channel"].to_pylist() == ["default", "orders"] * 10


def test_shapes_are_not_kept_without_end(monkeypatch):
    monkeypatch.setattr(columns, "_MOST_SHAPES", 3)
    laid = RecordColumns(SHARED, 0, fewest_rows=1)
    records = [(FIRST + n, 0, [*REQUIRED, (f"ce_x{n}", b"")], None) for n in range(20)]
    assert laid.batch(records, raise_damage).num_rows == 20
    assert len(laid._shapes) <= 3
    assert len(laid._forms) <= 3
