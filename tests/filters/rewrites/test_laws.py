"""Every rewrite keeps the three-valued meaning, of trees of atoms and of whole CEL expressions."""

from itertools import product

import pytest
from hypothesis import given
from tests.examples import examples
from tests.filters.cel_texts import cel_filters, data_events
from tests.filters.strategies import expressions, odd_events

from headrace.filters import compile_filter
from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.rewrites.deduplicate import deduplicate
from headrace.filters.rewrites.distribute import distribute
from headrace.filters.rewrites.flatten import flatten
from headrace.filters.rewrites.fold import fold
from headrace.filters.rewrites.negate import push_negations
from headrace.filters.variables import variables_of


def spread(expression):
    return distribute(push_negations(expression), 3).expression


every_rewrite = pytest.mark.parametrize("rewrite", [flatten, fold, push_negations, deduplicate, spread])


@every_rewrite
@examples(200)
@given(expression=expressions, event=odd_events)
def test_keeps_the_meaning_of_atoms(rewrite, expression, event):
    variables = variables_of(event)
    assert evaluate(rewrite(expression), variables) is evaluate(expression, variables)


@every_rewrite
@examples(200)
@given(filter_=cel_filters, event=data_events)
def test_keeps_the_meaning_of_expressions(rewrite, filter_, event):
    variables = variables_of(event)
    assert evaluate(rewrite(filter_.expression), variables) is evaluate(filter_.expression, variables)


@every_rewrite
@given(expression=expressions)
def test_is_idempotent(rewrite, expression):
    once = rewrite(expression)
    assert rewrite(once) == once


@pytest.mark.parametrize(
    "elements", [each for size in range(4) for each in product([1, 3, "a"], repeat=size)]
)
@pytest.mark.parametrize("macro", ["all", "exists"])
def test_negations_go_into_macros(macro, elements):
    expression = compile_filter({"cel": f"!data.{macro}(x, x < 2)"}).expression
    variables = {"data": list(elements)}
    assert evaluate(push_negations(expression), variables) is evaluate(expression, variables)


def read_as_false(expression, variables):
    """Two-valued logic in which a clause that is unknown is false."""
    match expression:
        case Constant(value):
            return value
        case And(parts):
            return all(read_as_false(part, variables) for part in parts)
        case Or(parts):
            return any(read_as_false(part, variables) for part in parts)
        case _:
            return evaluate(expression, variables) is True


@examples(300)
@given(expressions, odd_events)
def test_after_negations_are_pushed_unknown_may_be_read_as_false(expression, event):
    variables = variables_of(event)
    normal = push_negations(expression)
    assert read_as_false(normal, variables) is (evaluate(expression, variables) is True)


@given(expressions)
def test_only_clauses_are_negated(expression):
    def check(node):
        if isinstance(node, And | Or):
            for part in node.parts:
                check(part)
        if isinstance(node, Not):
            assert not isinstance(node.part, And | Or | Not | Constant)

    check(push_negations(expression))
