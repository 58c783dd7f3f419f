import pickle

import pytest
from hypothesis import given
from tests.filters.cel_texts import cel_filters
from tests.filters.strategies import expressions

from headrace.filters.ir.literals import Literal, Uint
from headrace.filters.ir.operands import Path


def test_literals_of_different_types_are_different():
    assert len({Literal(1), Literal(1.0), Literal(True)}) == 3
    assert Literal(1) != Literal(1.0)
    assert Literal(1) != Literal(True)
    assert Literal(1) != 1


def test_equal_literals_are_equal():
    assert Literal("a") == Literal("a")
    assert hash(Literal("a")) == hash(Literal("a"))


def test_a_variable_lies_in_no_map():
    with pytest.raises(ValueError, match="publishTime"):
        _ = Path(("publishTime",)).parent


@given(cel_filters)
def test_every_expression_survives_pickling(filter_):
    restored = pickle.loads(pickle.dumps(filter_))
    assert restored == filter_
    assert hash(restored) == hash(filter_)
    assert restored.cel == filter_.cel


def test_literals_tell_apart_what_computes_differently():
    assert len({Literal(1), Literal(Uint(1))}) == 2
    assert Literal(0.0) != Literal(-0.0)
    assert Literal("a") != Literal(b"a")


@given(expressions)
def test_every_tree_survives_pickling(expression):
    restored = pickle.loads(pickle.dumps(expression))
    assert restored == expression
    assert hash(restored) == hash(expression)
