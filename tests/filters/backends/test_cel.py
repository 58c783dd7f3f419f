import ast
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.filters.strategies import expressions

from headrace.filters.backends.cel import write_cel, write_literal, write_operand
from headrace.filters.ir.atoms import Comparison, EndsWith, Has, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text

A = Comparison(Path(("ce", "a")), Operator.EQUAL, Literal(1))
B = Has(Path(("ce", "b")))
C = StartsWith(Path(("ce", "c")), "x")
KEYWORD = Has(Path(("ce", "in")))

TEXTS = [
    (Constant(value=True), "true"),
    (Constant(value=False), "false"),
    (Not(Constant(value=False)), "!false"),
    (A, "ce.a == 1"),
    (Not(A), "!(ce.a == 1)"),
    (Not(B), "!has(ce.b)"),
    (Not(C), '!ce.c.startsWith("x")'),
    (Not(Not(B)), "!!has(ce.b)"),
    (KEYWORD, '"in" in ce'),
    (Not(KEYWORD), '!("in" in ce)'),
    (And((KEYWORD, B)), '"in" in ce && has(ce.b)'),
    (And((A, B, C)), 'ce.a == 1 && has(ce.b) && ce.c.startsWith("x")'),
    (Or((And((A, B)), C)), 'ce.a == 1 && has(ce.b) || ce.c.startsWith("x")'),
    (And((Or((A, B)), C)), '(ce.a == 1 || has(ce.b)) && ce.c.startsWith("x")'),
    (Not(Or((A, B))), "!(ce.a == 1 || has(ce.b))"),
    (EndsWith(Text(Path(("ce", "d"))), "y"), 'string(ce.d).endsWith("y")'),
    (Has(Path(("data", "a b", "c"))), 'has(data["a b"].c)'),
    (Has(Path(("data", "a", "b c"))), "has(data.a.`b c`)"),
    (Has(Path(("data", "in"))), "has(data.`in`)"),
    (Has(Path(("data", "é"))), '"é" in (type(data) == map ? data : {}[0])'),
]


@pytest.mark.parametrize(("expression", "text"), TEXTS)
def test_text(expression, text):
    assert write_cel(expression) == text


@pytest.mark.parametrize("operator", list(Operator))
def test_operators(operator):
    assert write_cel(Comparison(Path(("ce", "a")), operator, Literal(None))) == f"ce.a {operator.value} null"


LITERALS = [
    (None, "null"),
    (True, "true"),
    (1, "1"),
    (-(2**63), "-9223372036854775808"),
    (1.0, "1.0"),
    (1e300, "1e+300"),
    ("", '""'),
    ("\x00\x1f\x7f", '"\\u0000\\u001f\\u007f"'),
]


@pytest.mark.parametrize(("value", "text"), LITERALS)
def test_literals(value, text):
    assert write_literal(value) == text


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_a_string_literal_reads_back(text):
    # The escapes in use mean the same in Python.
    written = write_literal(text)
    assert ast.literal_eval(written) == text
    assert not re.search(r"[\x00-\x1f\x7f]", written)


@pytest.mark.parametrize("key", ["true", "false", "null", "in", "1a", "a-b", "", "é", "a\n"])
def test_keys_that_are_no_selectors_are_indexed(key):
    assert write_operand(Path(("ce", key))) == f"ce[{write_literal(key)}]"


@pytest.mark.parametrize("key", ["for", "inner", "nullable", "_x", "A1"])
def test_keys_that_are_selectors(key):
    assert write_operand(Path(("ce", key))) == f"ce.{key}"


@given(expressions, expressions)
def test_the_text_follows_from_the_tree(a, b):
    assert (write_cel(a) == write_cel(b)) or a != b
