import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.backends.event_tables import table_of
from tests.filters.budgets import FAMILIES, event_with
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.strategies import events, expressions, filters, odd_events
from tests.filters.test_cases import CASES, every_case

from headrace.events.batch import from_batch
from headrace.events.event import DataKind, Event
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.arrow.evaluator import columnar_path, evaluate
from headrace.filters.ir.expression import clauses_of

ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


def several(rows):
    return st.lists(rows, min_size=1, max_size=8)


def check(filter_, batch):
    expected = [filter_.matches(recorded) for recorded in from_batch(batch)]
    assert evaluate(filter_.expression, batch).to_pylist() == expected, filter_.cel


@every_case
def test_case_file(case):
    # Every event of the file under every filter of it, not only under its own.
    check(compile_filter(case.filter), ALL_EVENTS)


ALL_EVENTS = table_of([event for case in CASES for event, _ in case.events()])


@examples(200, deadline=None)
@given(filters, several(events()))
def test_of_the_subscriptions_dialects(spec, rows):
    check(compile_filter(spec), table_of(rows))


@examples(200, deadline=None)
@given(expressions, several(odd_events))
def test_of_trees(expression, rows):
    check(Filter(expression), table_of(rows))


@examples(400, deadline=None)
@given(cel_filters, several(data_events))
def test_of_expressions(filter_, rows):
    check(filter_, table_of(rows))


def test_within_and_above_the_budget():
    batch = table_of([event_with(data) for family in FAMILIES for data in (family.inside, family.above)])
    for number, family in enumerate(FAMILIES):
        rows = batch.slice(2 * number, 2)
        for text, expected in ((family.text, [True, False]), (f"!({family.text})", [False, False])):
            assert evaluate(compile_filter({"cel": text}).expression, rows).to_pylist() == expected, text


ODD_DATA = [
    b'{"a": 1} x', b'{"a": 1, "a": 2}', b'{"a": 1e400}', b'{"a": 123456789012345678901234567890}', b'{"a": -0}',
    b'{"a": "\\ud800"}', b'{"a": "\xff"}', b"\xff", b"\xef\xbb\xbf1", b"[" * 101 + b"]" * 101, b'{"a": NaN}',
    b'{"a": ' + b"[" * 99 + b"]" * 99 + b"}", b'{"a": ' + b"[" * 101 + b"]" * 101 + b"}", b"null", b'"x"', b"", b" 2 ",
    b"true", b'{"a": true}', b'{"a": "\\u0000"}', b'{"a": 1' + b"0" * 1200 + b"}", b'{"a": -1' + b"0" * 400 + b"}",
    b"2, 1", b"[1] [2", b'{"a": 1.0}', b'{"a": -0.0}', b'{"a": 1E+2}', b'{"a": 0.1}', b'{"a": 9007199254740993.0}',
]  # fmt: skip
ODD_EVENTS = [
    *(Event(ATTRIBUTES, data) for data in ODD_DATA),
    Event(ATTRIBUTES),
    Event(ATTRIBUTES | {"datacontenttype": "text/plain"}, b'{"a": 1}', DataKind.TEXT),
    Event(ATTRIBUTES | {"datacontenttype": "text/x+JSON ; a=b"}, b'{"a": 1}'),
    Event(
        ATTRIBUTES | {"specversion": "0.3", "datacontentencoding": "base64"}, b"eyJhIjogMX0=", DataKind.TEXT
    ),
    Event(ATTRIBUTES | {"specversion": "0.3", "datacontentencoding": "base64"}, b"!", DataKind.TEXT),
    Event(ATTRIBUTES | {"specversion": "0.3", "datacontentencoding": "base64"}, b'{"a": 1}'),
]
ODD_FILTERS = [
    "data.a == 1", "data.a != 1", "data.a == 2.0", "data.a >= 1.0", "data.a > 1e300", "data.a < 0", "has(data.a)",
    "!has(data.a)", "data == 2", "data != 2", "data == null", "data", "!data.a", "data.a in [1, 'x', 100.0]",
    "!(data.a in [1])", "data.a == 'x' || data.a == '\\u0000'", "string(data.a) == '1'", "string(data.a) in ['0', '-0']",
    "!(string(data.a) == '0')", "string(data.a).startsWith('1')", "data.a == 0.1", "data.a > 9007199254740992",
    "data.a == 9007199254740992", "data.a != dyn([1])", "data.a.startsWith('')", "!data.a.startsWith('x')",
    "data.a == 18446744073709551615u", "data.a <= 18446744073709551615u", "!(data.a < 5)", "1 in data.a",
]  # fmt: skip


@pytest.mark.parametrize("text", ODD_FILTERS)
def test_odd_data(text):
    check(compile_filter({"cel": text}), table_of(ODD_EVENTS))


def test_no_rows():
    batch = table_of([Event(ATTRIBUTES)]).slice(0, 0)
    for case in CASES:
        assert evaluate(compile_filter(case.filter).expression, batch).equals(pa.array([], pa.bool_()))


def test_a_slice():
    batch = table_of(ODD_EVENTS).slice(3, 20)
    for text in ODD_FILTERS:
        check(compile_filter({"cel": text}), batch)


COLUMNAR = [
    ("ce.subject == 'x'", True),
    ("!has(data.a.b)", True),
    ("data.a", True),
    ("string(ce.count).matches('4')", True),
    ("data.a + 1 == 2", False),
    ("data.a.exists(x, x == 1)", False),
    ("'in' in ce", True),
]


@pytest.mark.parametrize(("text", "expected"), COLUMNAR)
def test_which_clauses_columns_answer(text, expected):
    (clause,) = clauses_of(compile_filter({"cel": text}).expression)
    assert (columnar_path(clause) is not None) is expected
