"""The Spark back end, on real Spark. Filters are asked together, as columns of few jobs: each job has its price."""

from base64 import b64encode

import pyarrow as pa
import pytest
from pyspark.sql import functions as F  # noqa: N812 -- its usual name
from tests.filters.backends.arrow.test_evaluator import ATTRIBUTES, ODD_EVENTS, ODD_FILTERS
from tests.filters.backends.event_tables import table_of
from tests.filters.budgets import FAMILIES, event_with
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.drawing import drawn
from tests.filters.strategies import events, expressions, filters, odd_events
from tests.filters.test_cases import CASES

from headrace.config import load_config
from headrace.eventlog.archive.columns import extension_column, with_event_time, with_extensions
from headrace.events.batch import SCHEMA, from_batch
from headrace.events.event import AttributeValue, DataKind, Event
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.search import extensions_of, search_condition
from headrace.filters.backends.spark.archive import search_column
from headrace.filters.backends.spark.required_texts import required_texts_column
from headrace.filters.ir.expression import clauses_of
from headrace.filters.values.budget import LONGEST_SCANNED
from headrace.pipeline.spark.session import Session

TOGETHER = 25
FILTERS = 75


@pytest.fixture(scope="module")
def spark(tmp_path_factory):
    config = load_config(overrides={"pipeline.master": "local[2]"})
    session = Session(config.pipeline, tmp_path_factory.mktemp("spark"))
    yield session.spark
    session.stop()


def check(spark, compiled, rows):
    """Compare all filters on all events; return how many pairs that were."""
    batch = table_of(rows)
    recorded = from_batch(batch)
    table = spark.createDataFrame(pa.Table.from_batches([batch])).coalesce(1).cache()
    for first in range(0, len(compiled), TOGETHER):
        some = compiled[first : first + TOGETHER]
        columns = [each.column().alias(f"f{number}") for number, each in enumerate(some)]
        answers = table.orderBy("position").select(*columns).collect()
        for number, each in enumerate(some):
            expected = [each.matches(event) for event in recorded]
            assert [answer[number] for answer in answers] == expected, each.cel
    table.unpersist()
    return len(compiled) * len(rows)


def test_case_file(spark):
    compiled = [compile_filter(case.filter) for case in CASES]
    assert check(spark, compiled, [event for case in CASES for event, _ in case.events()]) > 10_000


def test_within_and_above_the_budget(spark):
    texts = [family.text for family in FAMILIES[:9]]
    compiled = [compile_filter({"cel": text}) for each in texts for text in (each, f"!({each})")]
    rows = [event_with(data) for family in FAMILIES[:9] for data in (family.inside, family.above)]
    assert check(spark, compiled, rows) > 100


def test_attributes_above_the_budget(spark):
    texts = ["ce.subject.contains('b')", "!ce.subject.contains('b')", "!ce.extra.contains('b')"]
    rows = [
        Event(ATTRIBUTES | {"subject": text, "extra": text})
        for text in (
            "a",
            "b",
            "a" * LONGEST_SCANNED,
            "a" * (LONGEST_SCANNED + 1),
            "b" * (LONGEST_SCANNED + 1),
        )
    ]
    assert check(spark, [compile_filter({"cel": text}) for text in texts], rows) == 15


TERMS = [
    "string(data.a) + 'x' == '1x'",
    "!(data.a + 1 == 2)",
    "data.size() == 1",
    "ce.size() > 4",
    "publishTime == 1.5",
]


def test_odd_data(spark):
    compiled = [compile_filter({"cel": text}) for text in [*ODD_FILTERS, *TERMS]]
    assert check(spark, compiled, ODD_EVENTS) > 1000


MARKED_DATA = [
    b'{"a": "xy"}', b'{"a": "\\u0078y"}', b'{"\\u0061": "xy"}', b'{"b": "xy"}', b'{"a": {"b": 1}}', b'{"a": "x\\"y"}', b'{"a": ""}',
    b'{"a": 5, "b": "xy"}', b"{}", '{"a": "\u00e9"}'.encode(), b'{"a": "\\u00e9"}', b'{"a": "x/y"}', b'{"a": "x\\/y"}', b'{"a": null}',
]  # fmt: skip
MARKED_FILTERS = [
    "data.a == 'xy'", "data.a.startsWith('x')", "data.a.endsWith('y')", "data.a.contains('x')", "data.a.contains('')",
    "data.a in ['xy', 'z']", "data.a in ['xy', 5]", "data.a != 'xy'", "!data.a.startsWith('x')", "has(data.a.b)", "!has(data.a.b)",
    "!has(data.a)", "data.a == 'x\"y'", "data.a == '\u00e9'", "data.a == 'x/y'", "data.a == ''", "string(data.a) == '5'", "data.a == null",
    "data.a == 'xy' || ce.id == '1'", "ce.id == '1' && data.a == 'xy'",
]  # fmt: skip


def test_data_whose_bytes_are_searched(spark):
    rows = [Event(ATTRIBUTES, data) for data in MARKED_DATA]
    base64 = ATTRIBUTES | {"specversion": "0.3", "datacontentencoding": "base64"}
    rows += [Event(base64, b64encode(data), DataKind.TEXT) for data in MARKED_DATA]
    compiled = [compile_filter({"cel": text}) for text in MARKED_FILTERS]
    assert check(spark, compiled, rows) > 500


def test_bytes_without_the_text_are_not_sent_to_python(spark):
    table = spark.createDataFrame(
        pa.Table.from_batches([table_of([Event(ATTRIBUTES, d) for d in MARKED_DATA])])
    )
    (clause,) = clauses_of(compile_filter({"cel": "data.a == 'xy'"}).expression)
    sent = {row.position for row in table.filter(required_texts_column(clause)).select("position").collect()}
    assert {0, 1, 2} <= sent < set(range(len(MARKED_DATA)))


GENERATED = [
    ("dialects", filters.map(compile_filter), events()),
    ("trees", expressions.map(Filter), odd_events),
    ("expressions", cel_filters, data_events),
]


@pytest.mark.parametrize(("strategy", "rows"), [pytest.param(*rest, id=name) for name, *rest in GENERATED])
def test_generated(spark, strategy, rows):
    assert check(spark, drawn(strategy, FILTERS), drawn(rows, 150)) >= FILTERS * 100


SEARCHED = {
    "ce.count == 'a'": 27,
    "ce.count in ['a', '42']": 25,
    "ce.count.startsWith('4')": 24,
    "ce.count > '4'": 21,
    "has(ce.count)": 16,
    "ce.count == 42": 0,
    "ce.count == 'a' || ce.urgent == 'b'": 27,
    "ce.count == 'a' || ce.id == 'b'": 0,
    "eventTime == 0": 25,
    "eventTime > 0": 25,
    "!(eventTime <= 0)": 0,
    "eventTime >= 1 && ce.count == 'a'": 27,
    "!has(ce.count)": 0,
    "ce.count != 'a'": 0,
    "string(ce.count) == '42'": 24,
    "string(ce.count) == '1'": 24,
    "string(ce.count).startsWith('4')": 0,
    "string(ce.count) in ['1', '1.0', '-1', 'true']": 22,
    "string(ce.urgent) == '1e+20'": 26,
}
"""Filters, and how many of the events that are written down below a search for them leaves out."""
TIMES = [
    "1970-01-01T00:00:00Z",
    "1970-01-01T00:00:00.001Z",
    "1969-12-31T23:59:60Z",
    "a",
    "9999-12-31T23:59:59.999999999Z",
]
VALUES: list[AttributeValue] = [1.0, 1, "1", 1e20, -0.0, 42, "42", 42.0, True, "true", [1]]


def test_what_is_searched_for_is_necessary(spark):
    """Nothing that matches is left out, and of what doesn't match, something is."""
    rows = [Event(ATTRIBUTES | {"time": time}) for time in TIMES]
    rows += [Event(ATTRIBUTES | {name: value}) for value in VALUES for name in ("count", "urgent")]
    written = len(rows)
    rows += drawn(odd_events, 100)
    batch = with_extensions(with_event_time(table_of(rows)), EXTENSIONS)
    recorded = from_batch(batch.select(SCHEMA.names))
    table = spark.createDataFrame(pa.Table.from_batches([batch])).coalesce(1).cache()
    asked = [compile_filter({"cel": text}) for text in SEARCHED] + drawn(expressions.map(Filter), FILTERS)
    asked += drawn(filters.map(compile_filter), FILTERS)
    left_out: list[int] = []
    for first in range(0, len(asked), TOGETHER):
        some = asked[first : first + TOGETHER]
        columns = [_search_column(each).alias(f"f{number}") for number, each in enumerate(some)]
        answers = table.orderBy("position").select(*columns).collect()
        for number, each in enumerate(some):
            for event, answer in zip(recorded, answers, strict=True):
                assert answer[number] or not each.matches(event), (each.cel, event)
            left_out.append(sum(not answer[number] for answer in answers[:written]))
    table.unpersist()
    assert dict(zip(SEARCHED, left_out, strict=False)) == SEARCHED


EXTENSIONS = ("1st", "count", "in", "urgent")


def _search_column(filter_):
    condition = search_condition(filter_.expression)
    assert extensions_of(condition) <= set(EXTENSIONS)
    return search_column(condition, lambda name: F.col(extension_column(name)), F.col("event_time"))


PUSHED = [
    ({"exact": {"source": "/a"}}, "EqualTo(source,/a)"),
    ({"prefix": {"type": "com."}}, "StringStartsWith(type,com.)"),
    ({"suffix": {"type": ".x"}}, "StringEndsWith(type,.x)"),
    ({"cel": "ce.id in ['a', 'b']"}, "In(id, [a,b])"),
    ({"cel": "ce.subject >= 'a' && data.a == 1"}, "GreaterThanOrEqual(subject,a)"),
    ({"cel": "ce.type == 'x' && ce.source.matches('a+')"}, "EqualTo(type,x)"),
    ({"cel": "tenant == 'acme'"}, "EqualTo(namespace,acme)"),
    ({"cel": "publishTime >= 1500"}, "GreaterThanOrEqual(publish_time,"),
]


@pytest.fixture(scope="module")
def stored(spark, tmp_path_factory):
    path = str(tmp_path_factory.mktemp("stored") / "events")
    spark.createDataFrame(pa.Table.from_batches([table_of(ODD_EVENTS)])).write.parquet(path)
    return spark.read.parquet(path)


@pytest.mark.parametrize(("spec", "pushed"), PUSHED, ids=str)
def test_comparisons_of_attributes_reach_parquet(stored, capsys, spec, pushed):
    stored.filter(compile_filter(spec).column()).explain("simple")
    (line,) = (each for each in capsys.readouterr().out.splitlines() if "PushedFilters" in each)
    assert pushed in line.partition("PushedFilters: ")[2]


IN_PYTHON = [
    ("ce.type == 'x' && tenant == 'y' && ce.count == 1 && string(ce.count) == '7'", False),
    ("ce.type.matches('x')", True),
    ("data.a + 1 == 2", True),
]


@pytest.mark.parametrize(("text", "expected"), IN_PYTHON)
def test_what_needs_python(stored, capsys, text, expected):
    stored.filter(compile_filter({"cel": text}).column()).explain("simple")
    assert ("ArrowEvalPython" in capsys.readouterr().out) is expected
