from typing import get_args

import pytest
from hypothesis import given
from tests.filters.strategies import expressions

from headrace.filters.ir.atoms import STRING_TESTS, Atom, StringTest
from headrace.filters.ir.expression import Expression
from headrace.filters.ir.parts import nodes_of
from headrace.filters.ir.visitor import Visitor

FIELDS = [name for name in Visitor.__dataclass_fields__ if name != "by_type"]


def named(name):
    return lambda node: (name, type(node))


NAMES: Visitor[[], tuple[str, type]] = Visitor(**{name: named(name) for name in FIELDS})


@given(expressions)
def test_every_node_has_its_function(expression):
    for node in nodes_of(expression):
        name, kind = NAMES.visit(node)
        assert kind is type(node)
        assert NAMES.by_type[kind] is getattr(NAMES, name)
        assert (name == "string_test") is isinstance(node, StringTest)


def test_there_are_as_many_functions_as_kinds_of_nodes():
    kinds = set(get_args(Expression))
    assert len(FIELDS) == len(kinds - set(STRING_TESTS)) + 1
    assert set(STRING_TESTS) <= set(get_args(Atom))


def test_a_walk_that_forgets_a_node_does_not_start():
    with pytest.raises(TypeError, match="macro"):
        Visitor(**{name: named(name) for name in FIELDS if name != "macro"})
