"""Rewrites for readers to whom unknown and false are one: they keep, or bound, where a filter is true."""

import pytest
from hypothesis import given
from tests.examples import examples
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.strategies import expressions, odd_events

from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.reference import evaluate
from headrace.filters.backends.spark.support import is_native
from headrace.filters.rewrites.bound import necessary, sufficient
from headrace.filters.rewrites.decide import decide
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.normalize import normal_form
from headrace.filters.rewrites.unglob import unglob
from headrace.filters.variables import variables_of


def holds(expression, event):
    return evaluate(expression, variables_of(event)) is True


@examples(300)
@given(expressions, odd_events)
def test_normal_form_of_trees(expression, event):
    assert holds(normal_form(expression), event) is holds(expression, event)


@examples(300)
@given(cel_filters, data_events)
def test_normal_form_of_expressions(filter_, event):
    assert holds(normal_form(filter_.expression), event) is holds(filter_.expression, event)


@examples(300)
@given(expressions, odd_events)
def test_bounds(expression, event):
    normal = normal_form(expression)
    assert holds(sufficient(normal, is_native), event) <= holds(expression, event)
    assert holds(expression, event) <= holds(necessary(normal, is_native), event)


FORMS = [
    (decide, "data.a && !data.b", "data.a == true && data.b == false"),
    (decide, "data.a ? data.b == 1 : data.c", "data.a == true && data.b == 1 || data.a == false && data.c == true"),
    (decide, "(data.a ? data.b : data.c) ? data.d : data.e", "(data.a ? data.b : data.c) ? data.d : data.e"),
    (unglob, "ce.id.match('a*') || !ce.id.match('b*')", 'ce.id.startsWith("a") || !ce.id.startsWith("b")'),
    (unglob, "ce.id.match('a?*')", 'ce.id.match("a?*")'),
]  # fmt: skip


@pytest.mark.parametrize(("rewrite", "text", "expected"), FORMS)
def test_forms(rewrite, text, expected):
    assert write_cel(flatten(rewrite(compile_filter({"cel": text}).expression))) == expected


@pytest.mark.parametrize("expected", [True, False])
def test_bounds_of_a_disjunction(expected):
    expression = compile_filter({"cel": "ce.id == 'a' || data.a == 1"}).expression
    text = "true" if expected else 'ce.id == "a"'
    bound = necessary if expected else sufficient
    assert write_cel(bound(expression, is_native)) == text
