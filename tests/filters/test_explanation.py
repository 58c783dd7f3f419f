from textwrap import dedent

from hypothesis import given
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
