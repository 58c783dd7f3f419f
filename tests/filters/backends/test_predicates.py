import pickle

import pytest
from hypothesis import HealthCheck, given
from tests.examples import examples
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import events, expressions, filters, odd_events

from headrace.filters import Filter, compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.predicates import Conjunction, conjunctions_of
from headrace.filters.variables import variables_of


def holds(conjunctions, event):
    variables = variables_of(event)
    return any(each.holds(variables) for each in conjunctions)


@examples(300)
@given(filters, events())
def test_of_the_subscriptions_dialects(spec, event):
    compiled = compile_filter(spec)
    assert holds(conjunctions_of(compiled.expression), event) is compiled.matches(event)


@examples(200, suppress_health_check=list(HealthCheck), deadline=None)
@given(every_filter, every_event())
def test_of_every_dialect(spec, event):
    compiled = compile_filter(spec)
    assert holds(conjunctions_of(compiled.expression), event) is compiled.matches(event)


@examples(300)
@given(expressions, odd_events)
def test_of_trees(expression, event):
    for limit in (1, 4, 1000):
        assert holds(conjunctions_of(expression, limit), event) is Filter(expression).matches(event)


@examples(500)
@given(cel_filters, data_events)
def test_of_expressions(filter_, event):
    assert holds(conjunctions_of(filter_.expression), event) is filter_.matches(event)


def written(text, limit=1000):
    return [
        (list(map(write_cel, each.keys)), list(map(write_cel, each.residual)))
        for each in conjunctions_of(compile_filter({"cel": text}).expression, limit)
    ]


FORMS = [
    ("true", [([], [])]),
    ("false", []),
    ("data.a == 1 && data.b > 2", [(["data.a == 1", "data.b > 2"], [])]),
    ("data.a == 1 || data.b != 2", [(["data.a == 1"], []), ([], ["data.b != 2"])]),
    ("!(data.a != 1 || data.b)", [(["data.a == 1", "data.b == false"], [])]),
    ("has(ce.subject) && ce.subject == 'x'", [(['ce.subject == "x"'], [])]),
    ("has(ce.subject) && data.a", [(["has(ce.subject)", "data.a == true"], [])]),
    ("has(ce.a) && has(ce.a.b) && ce.a.b in [1]", [(["ce.a.b in [1]"], [])]),
    ("ce.source.match('https://*')", [(['ce.source.startsWith("https://")'], [])]),
    ("ce.source.match('*.com')", [([], ['ce.source.match("*.com")'])]),
    ("'x' in data.tags && data.n * 2 > 4", [(['"x" in data.tags'], ["data.n * 2 > 4"])]),
    (
        "data.a ? data.b == 1 : data.c == 1",
        [(["data.a == true", "data.b == 1"], []), (["data.a == false", "data.c == 1"], [])],
    ),
    ("data.a == 1 && (data.b == 1 || data.b == 2)", [
        (["data.a == 1", "data.b == 1"], []),
        (["data.a == 1", "data.b == 2"], []),
    ]),
    ("data.a == 1 || data.a == 1", [(["data.a == 1"], [])]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "expected"), FORMS)
def test_forms(text, expected):
    assert written(text) == expected


def test_above_the_limit_the_rest_stays_together():
    assert written("data.a == 1 && (data.b == 1 || data.b == 2)", 1) == [
        (["data.a == 1"], ["data.b == 1 || data.b == 2"])
    ]


def test_a_conjunction_survives_pickling():
    (each,) = conjunctions_of(compile_filter({"cel": "data.a == 1 && data.b != 2"}).expression)
    assert isinstance(each, Conjunction)
    assert pickle.loads(pickle.dumps(each)) == each
