"""The dialect `sql`: which tree an expression becomes, and what is refused."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.cesql.strategies import attributes
from tests.filters.every_dialect import sql_texts

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import compile_filter, union
from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.predicates import conjunctions_of
from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql import parse, write_cesql
from headrace.filters.cesql.translation import by_functions
from headrace.filters.dialects.cel import parse_cel
from headrace.filters.dialects.cesql import parse_sql
from headrace.filters.dialects.dialect import ParseContext
from headrace.filters.dialects.table import parse_filter
from headrace.filters.rewrites.lower import lower

CONTEXT = ParseContext("filters[0].sql", Limits(), parse_filter)
EVENT = Event(attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "T"})
LOWER = {"sql": "LOWER(type) = 't'"}


@pytest.mark.parametrize("name", ["sql", "cesql"])
def test_what_cel_can_say_is_an_ordinary_tree(name):
    compiled = compile_filter({name: "type = 'T' OR Subject LIKE 'a%'"})
    cel = 'ce.type == "T" || has(ce.subject) && ce.subject.startsWith("a")'
    assert compiled.cel == cel
    assert compiled == compile_filter({"cel": cel})


def test_its_functions_are_functions_of_cel():
    compiled = compile_filter(LOWER)
    assert compiled.cel == 'sqlLower(ce.type) == "t"'
    assert compiled == compile_filter({"cel": compiled.cel})
    assert compiled.matches(EVENT)


def test_an_error_is_false_and_its_negation_true():
    sql = {"sql": "LOWER(subject) = 'x'"}
    assert not compile_filter(sql).matches(EVENT)
    assert compile_filter({"not": sql}).matches(EVENT)


def test_an_explanation_shows_the_text_and_the_error():
    compiled = compile_filter({"all": [LOWER, {"not": {"cesql": "lower(Subject) = 'x'"}}]})
    assert str(compiled.explain(EVENT)) == (
        "true: all of\n"
        "├── true: LOWER(type) = 't' (type is 'T')\n"
        '│   └── true: sqlLower(ce.type) == "t" (ce.type is "T")\n'
        "└── true: not\n"
        "    └── false: LOWER(subject) = 'x' (missingAttribute error: the event has no subject)\n"
        "        └── false: all of\n"
        "            ├── false: has(ce.subject) (ce.subject is missing)\n"
        '            └── unknown: sqlLower(ce.subject) == "x" (ce.subject is missing)'
    )


def test_an_explanation_shows_the_text_above_its_cel():
    spec: list[dict[str, Any]] = [
        {"exact": {"type": "T"}},
        {"not": {"not": {"sql": "source='/s' and (subject = 'x')"}}},
    ]
    explanation = compile_filter(spec).explain(EVENT)
    assert str(explanation) == (
        "false: all of\n"
        '├── true: ce.type == "T" (ce.type is "T")\n'
        "└── false: source = '/s' AND subject = 'x' (missingAttribute error: the event has no subject)\n"
        "    └── false: all of\n"
        '        ├── true: ce.source == "/s" (ce.source is "/s")\n'
        "        ├── false: has(ce.subject) (ce.subject is missing)\n"
        '        └── unknown: ce.subject == "x" (ce.subject is missing)'
    )
    assert explanation.document()["parts"][1] == {
        "clause": "source = '/s' AND subject = 'x'",
        "value": False,
        "reason": "missingAttribute error: the event has no subject",
        "parts": [explanation.parts[1].parts[0].document()],
    }


def test_an_explanation_says_what_can_not_be_cast():
    explanation = compile_filter({"sql": "type > 3"}).explain(EVENT)
    assert (explanation.clause, explanation.value) == ("type > 3", False)
    assert explanation.reason == "cast error: 'T' can't be cast to Integer"


def test_a_negated_expression_is_explained_as_it_was_written():
    explanation = compile_filter({"not": {"sql": "NOT EXISTS subject"}}).explain(EVENT)
    assert str(explanation) == (
        "false: not\n"
        "└── true: NOT EXISTS subject (subject is missing)\n"
        "    └── true: not\n"
        "        └── false: has(ce.subject) (ce.subject is missing)"
    )


def test_what_was_written_is_no_part_of_the_filter():
    sql, cel = compile_filter({"sql": "type = 'T'"}), compile_filter({"cel": 'ce.type == "T"'})
    assert (sql, hash(sql), repr(sql)) == (cel, hash(cel), repr(cel))
    assert sql.explain(EVENT).clause == "type = 'T'"
    assert cel.explain(EVENT).clause == 'ce.type == "T"'


def test_a_filter_that_was_pickled_still_knows_what_was_written():
    compiled = compile_filter({"sql": "type = 'T'"})
    restored = pickle.loads(pickle.dumps(compiled))
    assert restored == compiled
    assert restored.explain(EVENT) == compiled.explain(EVENT)


def test_limits_above_the_usual_ones_do_not_spoil_an_explanation():
    text = " OR ".join(f"type = '{'a' * 10}{number}'" for number in range(200))
    compiled = compile_filter({"sql": f"{text} OR type = '{'b' * 10_000}'"}, limits=Limits(length=20_000))
    assert str(compiled.explain(EVENT)).startswith("false: type = 'aaaaaaaaaa0' OR")


@given(sql_texts, st.lists(attributes(), min_size=1, max_size=2))
def test_an_explanation_has_the_value_that_the_filter_has(text, events):
    try:
        compiled = compile_filter({"all": [{"sql": text}, {"not": {"sql": text}}]})
    except FilterError:
        return
    for bound in events:
        explanation = compiled.explain(Event(attributes=bound))
        assert explanation.value is evaluate(compiled.expression, {"ce": bound})
        assert [part.clause for part in explanation.parts] == [write_cesql(parse(text)), "not"]


def test_an_index_sees_what_stands_around_a_function():
    compiled = compile_filter([{"exact": {"type": "T"}}, LOWER])
    (conjunction,) = conjunctions_of(compiled.expression)
    assert len(conjunction.keys) == 1
    assert conjunction.residual == (compile_filter(LOWER).expression,)


def test_a_union_says_what_its_functions_ask():
    joined = union(
        [compile_filter([{"exact": {"type": "T"}}, LOWER]), compile_filter({"exact": {"id": "2"}})]
    )
    assert joined.cel == 'ce.type == "T" && sqlLower(ce.type) == "t" || ce.id == "2"'
    assert not joined.widened
    assert union([compile_filter({"not": LOWER})]).cel == 'sqlLower(ce.type) != "t"'


@pytest.mark.parametrize(
    "text",
    [
        "x LIKE '_%" + "a_" * 2000 + "'",
        " OR ".join(f"LOWER(x) = '{number}'" for number in range(40)),
        " OR ".join(f"type LIKE '%{number}%'" for number in range(40)),
    ],
)
def test_above_the_limits_of_clauses_it_is_one_call(text):
    expression = compile_filter({"sql": text}).expression
    assert expression == by_functions(parse(text))


def test_the_length_of_its_text_counts():
    clause = {"sql": f"LOWER(type) = '{'a' * 9000}'"}
    with pytest.raises(FilterError) as refusal:
        compile_filter({"any": [clause] * 12})
    assert refusal.value.limit == "expression"


@examples(500)
@given(sql_texts, st.lists(attributes(), min_size=1, max_size=3))
def test_the_tree_means_what_the_expression_does(text, events):
    called = by_functions(parse(text))
    lowered = lower(parse_sql(text, CONTEXT))
    assert parse_cel(write_cel(lowered), CONTEXT) == lowered
    for bound in events:
        assert evaluate(lowered, {"ce": bound}) is evaluate(called, {"ce": bound})


@pytest.mark.parametrize("body", [None, "", 1, {"sql": "a"}, "\ud800", ["a"]])
def test_a_body_is_a_text(body):
    with pytest.raises(FilterError) as caught:
        parse_sql(body, CONTEXT)
    assert caught.value.path == "filters[0].sql"


REFUSED = [
    ("type = ", 6, "the expression ends where a value is expected"),
    ("NOT foo(1)", 4, "there is no function FOO; known are LENGTH, CONCAT"),
    ("LENGTH(a, b) > 1", 0, "LENGTH doesn't take 2 arguments"),
    ("a = 1 OR SUBSTRING(a) = ''", 9, "SUBSTRING doesn't take 1 argument"),
]


@pytest.mark.parametrize(("text", "position", "problem"), REFUSED)
def test_a_fault_says_where_it_is(text, position, problem):
    with pytest.raises(FilterError) as caught:
        parse_sql(text, CONTEXT)
    assert (caught.value.path, caught.value.position) == ("filters[0].sql", position)
    assert str(caught.value).startswith(f"filters[0].sql: {problem}")
    assert str(caught.value).endswith(" " * position + "^")


@pytest.mark.parametrize("limit", ["length", "depth", "atoms"])
def test_a_place_sets_the_limits(limit):
    context = ParseContext("filter", Limits(**{limit: 2}), parse_filter)
    with pytest.raises(FilterError) as caught:
        parse_sql("a + b + c = 2", context)
    assert caught.value.limit == limit
