"""The rules of evaluation that the specification's suite leaves open, and the laws."""

import pickle
from typing import Any

import pytest
from hypothesis import given
from tests.filters.cesql.strategies import attributes, nodes

from headrace.filters.cesql import ErrorKind, Expression, parse

BOUND: dict[str, Any] = {
    "specversion": "1.0",
    "id": "1",
    "source": "/s",
    "type": "t",
    "n": 7,
    "s": "abc",
    "yes": True,
    "d": "12",
}

VALUES = [
    ("-7 / 2", -3),
    ("7 / -2", -3),
    ("-7 % 2", -1),
    ("7 % -2", 1),
    ("n + d", 19),
    ("yes + yes", 2),
    ("'+5' + 0", 5),
    ("'0000000000000005' + 0", 5),
    ("false AND 'x'", False),
    ("true OR 'x'", True),
    ("true XOR true XOR true", True),
    ("n = '7'", True),
    ("'07' = n", True),
    ("n = '07'", False),
    ("yes = 'true'", True),
    ("d IN (12)", True),
    ("d IN ('012')", False),
    ("TRIM('\x1f \u3000a\xa0')", "\x1f \u3000a"),
    ("UPPER('straße')", "STRASSE"),
    ("LENGTH('\U0001f600')", 1),
    ("LENGTH(n)", 1),
    ("RIGHT('abc', 0)", ""),
    ("SUBSTRING('abc', 3, 0)", ""),
    ("SUBSTRING('', 0)", ""),
    ("SUBSTRING('abc', -3, 2)", "ab"),
    ("SUBSTRING('abc', 2, 100)", "bc"),
    ("EXISTS nothing", False),
    ("(s = 'abc') = yes", True),
    ("NOT 10", False),
    ("NOT 0", True),
    ("N", 7),
]


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text, value):
    result = parse(text).evaluate(BOUND)
    assert (result.value, type(result.value), result.errors) == (value, type(value), ())


ERRORS = [
    ("nothing", False, ErrorKind.MISSING_ATTRIBUTE, 0),
    ("data", False, ErrorKind.MISSING_ATTRIBUTE, 0),
    ("NOT (nothing = 1)", False, ErrorKind.MISSING_ATTRIBUTE, 5),
    ("nothing = 1 OR true", False, ErrorKind.MISSING_ATTRIBUTE, 0),
    ("CONCAT('a', nothing)", "", ErrorKind.MISSING_ATTRIBUTE, 12),
    ("n IN (7, nothing)", False, ErrorKind.MISSING_ATTRIBUTE, 9),
    ("n IN (7, 'x')", False, ErrorKind.CAST, 9),
    ("s = 1", False, ErrorKind.CAST, 0),
    ("s != 1", False, ErrorKind.CAST, 0),
    ("s < 1", False, ErrorKind.CAST, 0),
    ("s AND true", False, ErrorKind.CAST, 0),
    ("-'x'", 0, ErrorKind.CAST, 1),
    ("'2147483648' + 0", 0, ErrorKind.CAST, 0),
    ("'1\n' + 0", 0, ErrorKind.CAST, 0),
    ("'٣' + 0", 0, ErrorKind.CAST, 0),
    ("'1_0' + 0", 0, ErrorKind.CAST, 0),
    ("BOOL('fal\u017fe')", False, ErrorKind.CAST, 5),
    ("2147483647 + 1", 0, ErrorKind.MATH, 11),
    ("65536 * 65536", 0, ErrorKind.MATH, 6),
    ("- -2147483648", 0, ErrorKind.MATH, 0),
    ("-2147483648 / -1", 0, ErrorKind.MATH, 12),
    ("1 + 1 / 0", 0, ErrorKind.MATH, 6),
    ("ABS(ABS(-2147483648))", 0, ErrorKind.MATH, 4),
    ("LEFT(s, -1)", "abc", ErrorKind.FUNCTION_EVALUATION, 0),
    ("LENGTH(LEFT(s, -1))", 0, ErrorKind.FUNCTION_EVALUATION, 7),
    ("SUBSTRING(s, 1, -1)", "", ErrorKind.FUNCTION_EVALUATION, 0),
    ("NO_SUCH(1)", False, ErrorKind.MISSING_FUNCTION, 0),
    ("LENGTH()", False, ErrorKind.MISSING_FUNCTION, 0),
]


@pytest.mark.parametrize(("text", "value", "kind", "position"), ERRORS)
def test_error(text, value, kind, position):
    result = parse(text).evaluate(BOUND)
    assert [(error.kind, error.position) for error in result.errors] == [(kind, position)]
    assert (result.value, type(result.value)) == (value, type(value))
    assert not parse(text).passes(BOUND)


@pytest.mark.parametrize("value", [1.5, None, [], {}, 2**63])
def test_values_that_cesql_has_no_type_for_exist_but_are_errors(value):
    bound = BOUND | {"odd": value}
    assert parse("EXISTS odd").passes(bound)
    assert parse("odd != 'x'").evaluate(bound).errors[0].kind is ErrorKind.CAST


def test_only_the_boolean_true_passes():
    for text, passing in [("yes", True), ("n", False), ("'true'", False), ("TRUE", True), ("FALSE", False)]:
        assert parse(text).passes(BOUND) is passing


def test_a_pickled_expression_evaluates():
    expression = parse("LOWER(s) LIKE 'a%' AND n IN (7)")
    copy = pickle.loads(pickle.dumps(expression))
    assert copy == expression
    assert copy.passes(BOUND)


@given(nodes, attributes())
def test_an_evaluation_never_raises(node, bound):
    expression = Expression(node)
    result = expression.evaluate(bound)
    assert type(result.value) in (str, int, bool)
    assert len(result.errors) <= 1
    assert expression.passes(bound) is (result.value is True and not result.errors)
    if expression.program.type is not None:
        assert type(result.value) is type(expression.program.zero)
