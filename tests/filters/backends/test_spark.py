"""The Spark back end, on real Spark. Filters are asked together, as columns of few jobs: each job has its price."""

from base64 import b64encode

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from tests.filters.backends.event_tables import table_of
from tests.filters.backends.test_arrow import ATTRIBUTES, ODD_EVENTS, ODD_FILTERS
from tests.filters.budgets import FAMILIES, event_with
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.strategies import events, expressions, filters, odd_events
from tests.filters.test_cases import CASES

from headrace.config import load_config
from headrace.events.batch import from_batch
from headrace.events.event import DataKind, Event
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.spark_marks import mark_column
from headrace.filters.ir.expression import clauses_of
from headrace.filters.values.budget import LONGEST_SCANNED
from headrace.pipeline.session import Session

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
    sent = {row.position for row in table.filter(mark_column(clause)).select("position").collect()}
    assert {0, 1, 2} <= sent < set(range(len(MARKED_DATA)))


def drawn(strategy, count):
    """That many examples: the law is checked on all of them at once, so none can be made smaller."""
    examples = []

    @settings(
        max_examples=count, phases=[Phase.generate], database=None, deadline=None,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(strategy)
    def draw(example):
        examples.append(example)

    draw()
    return examples


GENERATED = [
    ("dialects", filters.map(compile_filter), events()),
    ("trees", expressions.map(Filter), odd_events),
    ("expressions", cel_filters, data_events),
]


@pytest.mark.parametrize(("strategy", "rows"), [pytest.param(*rest, id=name) for name, *rest in GENERATED])
def test_generated(spark, strategy, rows):
    assert check(spark, drawn(strategy, FILTERS), drawn(rows, 150)) >= FILTERS * 100


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
