import json
from textwrap import dedent

from hypothesis import given
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.strategies import expressions, odd_events

from headrace.events.event import Event
from headrace.filters import Filter, compile_filter
from headrace.filters.backends.reference import evaluate
from headrace.filters.explanation import explain
from headrace.filters.truth import UNKNOWN
from headrace.filters.variables import variables_of

EVENT = Event(
    attributes={
        "specversion": "1.0",
        "id": "1",
        "source": "/s",
        "type": "t",
        "count": 42,
        "nested": {"a": 1},
        "list": [],
    }
)


def drawn(spec, event=EVENT):
    return str(compile_filter(spec).explain(event))


def test_draws_the_tree():
    spec = {
        "all": [
            {"exact": {"type": "t"}},
            {"not": {"any": [{"prefix": {"subject": "a"}}, {"exact": {"count": "7"}}]}},
        ]
    }
    assert drawn(spec) == dedent("""\
        true: all of
        ├── true: ce.type == "t" (ce.type is "t")
        └── true: not
            └── false: any of
                ├── false: all of
                │   ├── false: has(ce.subject) (ce.subject is missing)
                │   └── unknown: ce.subject.startsWith("a") (ce.subject is missing)
                └── false: all of
                    ├── true: has(ce.count) (ce.count is 42)
                    └── false: string(ce.count) == "7" (ce.count is 42)""")


def test_draws_repeated_clauses_as_often_as_they_are_written():
    spec = {"any": [{"exact": {"id": "2"}}, {"exact": {"id": "2"}}]}
    assert drawn(spec) == dedent("""\
        false: any of
        ├── false: ce.id == "2" (ce.id is "1")
        └── false: ce.id == "2" (ce.id is "1")""")


def test_says_which_type_stands_in_the_way():
    assert 'unknown: string(ce.nested) == "x" (ce.nested is a map of 1)' in drawn({"exact": {"nested": "x"}})
    assert "(ce.list is a list of 0)" in drawn({"exact": {"list": "x"}})


def test_no_filter():
    assert drawn([]) == "true: true (on every event)"


def test_long_values_are_cut():
    event = Event(attributes={"type": "x" * 10_000})
    assert len(drawn({"exact": {"type": "t"}}, event)) < 200


def test_holds_what_it_draws():
    explanation = compile_filter({"not": {"exact": {"nested": "x"}}}).explain(EVENT)
    assert (explanation.clause, explanation.value) == ("not", UNKNOWN)
    (inner,) = explanation.parts
    assert [part.value for part in inner.parts] == [True, UNKNOWN]
    assert inner.parts[1].reason == "ce.nested is a map of 1"


@given(expressions, odd_events)
def test_every_clause_has_the_value_that_the_evaluator_gives(expression, event):
    variables = variables_of(event)
    explanation = explain(expression, variables)
    assert explanation.value is evaluate(expression, variables)
    assert Filter(expression).matches(event) is (explanation.value is True)
    assert str(explanation)


DATA = Event(
    attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t"},
    data=b'{"amount": 7, "items": [{"price": 3}, {}], "note": "x", "on": 1}',
)


def test_draws_terms_with_everything_they_look_at():
    text = (
        'data.amount * 2 > 20 || data.items.all(i, i.price > 1) || data.note in ["y"] || data.on || '
        'data.amount > data.limit || size(data.note) == 1 && data.note.matches("^x$")'
    )
    assert drawn({"cel": text}, DATA) == dedent("""\
        true: any of
        ├── false: data.amount * 2 > 20 (data.amount is 7)
        ├── unknown: data.items.all(i, i.price > 1) (data.items is a list of 2; it is neither true nor false)
        ├── false: data.note in ["y"] (data.note is "x")
        ├── unknown: data.on (data.on is 1)
        ├── unknown: data.amount > data.limit (data.amount is 7; data.limit is missing)
        └── true: all of
            ├── true: size(data.note) == 1 (data.note is "x")
            └── true: data.note.matches("^x$") (data.note is "x")""")


def test_says_why_there_is_no_data():
    assert drawn({"cel": "data.a == 1"}, EVENT) == "unknown: data.a == 1 (data is missing)"
    assert drawn({"cel": "1 / 0 == 1"}, EVENT) == "unknown: 1 / 0 == 1 (division by zero)"


def test_is_also_a_document():
    explanation = compile_filter({"cel": "!has(data.x) && data.y"}).explain(DATA)
    assert explanation.document() == {
        "clause": "all of",
        "value": None,
        "parts": [
            {
                "clause": "not",
                "value": True,
                "parts": [{"clause": "has(data.x)", "value": False, "reason": "data.x is missing"}],
            },
            {"clause": "data.y", "value": None, "reason": "data.y is missing"},
        ],
    }


@given(cel_filters, data_events)
def test_every_clause_of_an_expression_has_its_value(filter_, event):
    explanation = filter_.explain(event)
    assert explanation.value is evaluate(filter_.expression, variables_of(event))
    assert str(explanation) == str(filter_.explain(event))
    assert json.dumps(explanation.document())
