"""The rules of evaluation that the specification's suite leaves open, and the laws."""

from typing import Any

import pytest
from hypothesis import given
from tests.filters.cesql.strategies import attributes, nodes

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.backends.reference import value_of
from headrace.filters.cesql import parse, term_of
from headrace.filters.cesql.translation import by_functions
from headrace.filters.values.cesql.errors import (
    CAST,
    FUNCTION,
    MATH,
    MISSING_ATTRIBUTE,
    CesqlError,
)

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


def value_at(text, bound=BOUND):
    return value_of(term_of(parse(text)), {"ce": bound})


@pytest.mark.parametrize(("text", "value"), VALUES)
def test_value(text, value):
    found = value_at(text)
    assert (found, type(found)) == (value, type(value))


ERRORS = [
    ("nothing", False, MISSING_ATTRIBUTE),
    ("data", False, MISSING_ATTRIBUTE),
    ("NOT (nothing = 1)", False, MISSING_ATTRIBUTE),
    ("nothing = 1 OR true", False, MISSING_ATTRIBUTE),
    ("CONCAT('a', nothing)", "", MISSING_ATTRIBUTE),
    ("n IN (7, nothing)", False, MISSING_ATTRIBUTE),
    ("n IN (7, 'x')", False, CAST),
    ("s = 1", False, CAST),
    ("s != 1", False, CAST),
    ("s < 1", False, CAST),
    ("s AND true", False, CAST),
    ("-'x'", 0, CAST),
    ("'2147483648' + 0", 0, CAST),
    ("'1\n' + 0", 0, CAST),
    ("'٣' + 0", 0, CAST),
    ("'1_0' + 0", 0, CAST),
    ("BOOL('fal\u017fe')", False, CAST),
    ("2147483647 + 1", 0, MATH),
    ("65536 * 65536", 0, MATH),
    ("- -2147483648", 0, MATH),
    ("-2147483648 / -1", 0, MATH),
    ("1 + 1 / 0", 0, MATH),
    ("ABS(ABS(-2147483648))", 0, MATH),
    ("LEFT(s, -1)", "abc", FUNCTION),
    ("LENGTH(LEFT(s, -1))", 0, FUNCTION),
    ("SUBSTRING(s, 1, -1)", "", FUNCTION),
]


@pytest.mark.parametrize(("text", "value", "kind"), ERRORS)
def test_error(text, value, kind):
    error = value_at(text)
    assert isinstance(error, CesqlError)
    assert (error.kind, error.value, type(error.value)) == (kind, value, type(value))
    assert value_of(by_functions(parse(text)), {"ce": BOUND}) is False


def test_an_error_is_null():
    error = value_at("nothing")
    assert error == None  # noqa: E711 -- as the evaluator compares
    assert hash(error) == hash(None)
    assert error != 0
    assert str(error) == "missingAttribute error: the event has no nothing"


@pytest.mark.parametrize("text", ["NO_SUCH(1)", "LENGTH()", "1 = NO_SUCH()"])
def test_unknown_functions_are_refused(text):
    with pytest.raises(FilterError):
        parse(text)


@pytest.mark.parametrize("value", [1.5, None, [], {}])
def test_values_that_cesql_has_no_type_for_exist_but_are_errors(value):
    bound = BOUND | {"odd": value}
    assert value_at("EXISTS odd", bound) is True
    for text in ("odd != 'x'", "LOWER(odd) != 'x'", "odd"):
        assert value_at(text, bound).kind == CAST


def test_only_the_boolean_true_passes():
    for text, passing in [("yes", True), ("n", False), ("'true'", False), ("TRUE", True), ("FALSE", False)]:
        event = Event(attributes=BOUND)
        assert compile_filter({"sql": text}).matches(event) is passing
        assert value_of(by_functions(parse(text)), {"ce": BOUND}) is passing


def test_thousands_of_zeros_are_a_number():
    assert value_at("ABS(count) = 7", BOUND | {"count": "-" + "0" * 5000 + "7"}) is True
    assert value_at("ABS(count) = 7", BOUND | {"count": "7" * 5000}).kind == CAST


def test_the_functions_are_there_for_cel():
    text = 'sqlLower(ce.s) == "abc" && sqlLike(ce.s, "a%") && sqlAttribute(ce, "nothing") == null'
    assert value_of(compile_filter({"cel": text}).expression, {"ce": BOUND}) is True
    with pytest.raises(FilterError, match="the pattern of sqlLike"):
        compile_filter({"cel": "sqlLike(ce.s, ce.d)"})


@given(nodes, attributes())
def test_an_evaluation_never_raises(node, bound):
    value = value_of(term_of(node), {"ce": bound})
    assert isinstance(value, str | int | bool | CesqlError)
    assert value_of(by_functions(node), {"ce": bound}) is (value is True)
