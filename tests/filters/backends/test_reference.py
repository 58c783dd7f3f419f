"""The reference evaluator. The answers in the tables are those of Google's CEL evaluator."""

import pytest
from hypothesis import given
from tests.filters.strategies import expressions, odd_events

from headrace.filters.backends.reference import evaluate
from headrace.filters.ir.atoms import Comparison, EndsWith, Has, Operator, StartsWith
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal
from headrace.filters.ir.operands import Path, Text
from headrace.filters.truth import UNKNOWN
from headrace.filters.values.documents import in_64_bits
from headrace.filters.variables import variables_of

VARIABLES = in_64_bits(
    {
        "ce": {
            "s": "abc",
            "i": 42,
            "b": True,
            "d": 1.5,
            "n": None,
            "m": {"a": 1, "deep": {"x": "y"}},
            "l": [1],
            "huge": 2**70,
            "endless": 10**400,
        }
    }
)


def at(*steps):
    return Path(("ce", *steps))


COMPARISONS = [
    ("s", "==", "abc", True),
    ("s", "==", "ab", False),
    ("s", "!=", "ab", True),
    ("s", "<", "b", True),
    ("s", ">=", "abc", True),
    ("s", "==", 1, False),
    ("s", "!=", 1, True),
    ("s", "<", 1, UNKNOWN),
    ("i", "==", 42, True),
    ("i", "==", 42.0, True),
    ("i", "!=", 42, False),
    ("i", "<", 42.5, True),
    ("i", "<=", 42, True),
    ("i", ">", 42, False),
    ("i", "==", "42", False),
    ("i", ">", "41", UNKNOWN),
    ("b", "==", True, True),
    ("b", "==", 1, False),
    ("b", "!=", 1, True),
    ("b", ">", False, True),
    ("b", "<", 1, UNKNOWN),
    ("d", "==", 1.5, True),
    ("d", ">", 1, True),
    ("n", "==", None, True),
    ("n", "==", "x", False),
    ("n", "<=", None, UNKNOWN),
    ("n", "<", 1, UNKNOWN),
    ("m", "==", "x", False),
    ("m", "!=", "x", True),
    ("m", "<", "x", UNKNOWN),
    ("l", "==", 1, False),
    ("huge", "==", 2.0**70, True),
    ("huge", ">", 2**63 - 1, True),
    ("endless", ">", 1e308, True),
    ("missing", "==", "x", UNKNOWN),
    ("missing", "!=", "x", UNKNOWN),
    ("missing", "<", "x", UNKNOWN),
]


@pytest.mark.parametrize(("name", "operator", "literal", "expected"), COMPARISONS)
def test_comparisons(name, operator, literal, expected):
    atom = Comparison(at(name), Operator(operator), Literal(literal))
    assert evaluate(atom, VARIABLES) is expected


TEXTS = [
    ("s", "abc"),
    ("i", "42"),
    ("b", "true"),
    ("d", "1.5"),
    ("huge", "1.1805916207174113e+21"),
    ("n", UNKNOWN),
    ("m", UNKNOWN),
    ("l", UNKNOWN),
    ("missing", UNKNOWN),
]


@pytest.mark.parametrize(("name", "text"), TEXTS)
def test_canonical_strings(name, text):
    operand = Text(at(name))
    wanted = text if isinstance(text, str) else "x"
    expected = isinstance(text, str) or UNKNOWN
    assert evaluate(Comparison(operand, Operator.EQUAL, Literal(wanted)), VARIABLES) is expected
    assert evaluate(StartsWith(operand, wanted[:2]), VARIABLES) is expected
    assert evaluate(EndsWith(operand, wanted[-2:]), VARIABLES) is expected


DOUBLES = [
    (0.0, "0"),
    (-0.0, "-0"),
    (2.0, "2"),
    (100000.0, "100000"),
    (999999.5, "999999.5"),
    (1000000.0, "1e+06"),
    (1234567.5, "1.2345675e+06"),
    (0.0001, "0.0001"),
    (0.00001, "1e-05"),
    (1 / 3, "0.3333333333333333"),
    (5e-324, "5e-324"),
    (1.5e300, "1.5e+300"),
]


@pytest.mark.parametrize(("value", "text"), DOUBLES)
def test_canonical_strings_of_doubles(value, text):
    atom = Comparison(Text(at("x")), Operator.EQUAL, Literal(text))
    assert evaluate(atom, {"ce": {"x": value}}) is True


PRESENCE = [
    (("s",), True),
    (("n",), True),
    (("missing",), False),
    (("m", "a"), True),
    (("m", "b"), False),
    (("m", "deep", "x"), True),
    (("m", "a", "x"), UNKNOWN),
    (("missing", "x"), UNKNOWN),
    (("s", "x"), UNKNOWN),
    (("n", "x"), UNKNOWN),
]


@pytest.mark.parametrize(("steps", "expected"), PRESENCE)
def test_presence(steps, expected):
    assert evaluate(Has(at(*steps)), VARIABLES) is expected


@pytest.mark.parametrize("name", ["i", "b", "n", "m", "l", "missing"])
def test_only_strings_have_beginnings_and_ends(name):
    assert evaluate(StartsWith(at(name), "a"), VARIABLES) is UNKNOWN
    assert evaluate(EndsWith(at(name), "a"), VARIABLES) is UNKNOWN


def test_a_path_goes_into_nested_values():
    assert evaluate(Comparison(at("m", "deep", "x"), Operator.EQUAL, Literal("y")), VARIABLES) is True
    assert evaluate(Comparison(at("m", "a", "x"), Operator.EQUAL, Literal("y")), VARIABLES) is UNKNOWN


def test_constants():
    assert evaluate(Constant(value=True), VARIABLES) is True
    assert evaluate(Not(Constant(value=True)), VARIABLES) is False


@given(expressions, expressions, odd_events)
def test_de_morgan(a, b, event):
    variables = variables_of(event)
    assert evaluate(Not(And((a, b))), variables) is evaluate(Or((Not(a), Not(b))), variables)
    assert evaluate(Not(Or((a, b))), variables) is evaluate(And((Not(a), Not(b))), variables)


@given(expressions, odd_events)
def test_double_negation_and_idempotence(a, event):
    variables = variables_of(event)
    value = evaluate(a, variables)
    assert evaluate(Not(Not(a)), variables) is value
    assert evaluate(And((a, a)), variables) is value
    assert evaluate(Or((a, a)), variables) is value
