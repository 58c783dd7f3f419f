from typing import Any

from headrace.filters.cesql.source import CesqlSource
from headrace.filters.ir.atoms import Has
from headrace.filters.ir.expression import And, Not, Or
from headrace.filters.ir.operands import attribute
from headrace.filters.rewrites.lower import lower

A, B = (Has(attribute(name)) for name in "ab")
SOURCE: Any = CesqlSource("EXISTS a", A)


def test_puts_the_tree_where_the_clause_stood():
    assert lower(SOURCE) == A
    assert lower(Or((B, Not(And((SOURCE, B)))))) == Or((B, Not(And((A, B)))))


def test_leaves_a_tree_without_such_clauses_as_it_is():
    for tree in (A, And((A, Not(Or((B, A)))))):
        assert lower(tree) is tree
