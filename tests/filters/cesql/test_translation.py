"""The clauses of an expression, next to the functions that define it."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters import google
from tests.filters.cesql.strategies import attributes, nodes

from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.reference import evaluate
from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql import parse, translate
from headrace.filters.cesql.syntax import Boolean, Integer, Minus, String
from headrace.filters.cesql.translation import by_functions
from headrace.filters.dialects.cel import parse_cel
from headrace.filters.dialects.dialect import ParseContext
from headrace.filters.dialects.table import parse_filter
from headrace.filters.ir.construct import condition
from headrace.filters.ir.parts import nodes_of

DEEP = Limits(depth=40)

TEXTS = [
    ("type = 'x'", 'ce.type == "x"'),
    ("subject <> 'x'", 'has(ce.subject) && ce.subject != "x"'),
    ("x = 'a'", 'has(ce.x) && ce.x == "a"'),
    ("x != 'a'", 'has(ce.x) && type(ce.x) in [string, int, bool] && ce.x != "a"'),
    ("x = '42'", 'has(ce.x) && type(ce.x) in [string, int, bool] && string(ce.x) == "42"'),
    ("x = type", "has(ce.x) && type(ce.x) in [string, int, bool] && string(ce.x) == ce.type"),
    ("type = x", "has(ce.x) && sqlEqual(ce.type, ce.x) == true"),
    ("x = y", "has(ce.x) && has(ce.y) && sqlEqual(ce.x, ce.y) == true"),
    ("x IN (y)", "has(ce.x) && has(ce.y) && sqlIn(ce.x, [ce.y]) == true"),
    ("x != y", "has(ce.x) && has(ce.y) && sqlEqual(ce.x, ce.y) == false"),
    ("LOWER(type) = 'a'", 'sqlLower(ce.type) == "a"'),
    ("LOWER(x) != 'a'", 'has(ce.x) && sqlLower(ce.x) != null && sqlLower(ce.x) != "a"'),
    ("ABS(x) = '1'", 'has(ce.x) && sqlEqual(sqlAbs(ce.x), "1") == true'),
    ("subject XOR x", "has(ce.subject) && has(ce.x) && sqlXor(ce.subject, ce.x) == true"),
    ("(x AND y) = TRUE", 'has(ce.x) && sqlAnd(ce.x, sqlAttribute(ce, "y")) == true'),
    ("NOT (subject = 'a')", 'has(ce.subject) && ce.subject != "a"'),
    ("NOT NOT (subject = 'a')", 'has(ce.subject) && ce.subject == "a"'),
    ("type IN ('a', 'b', 'a')", 'ce.type in ["a", "b"]'),
    ("x IN ('a', 'b')", 'has(ce.x) && ce.x in ["a", "b"]'),
    ("x NOT IN ('a', 'b')", 'has(ce.x) && type(ce.x) == string && !(ce.x in ["a", "b"])'),
    ("'a' = x", 'has(ce.x) && ce.x == "a"'),
    ("EXISTS x AND NOT EXISTS subject", "has(ce.x) && !has(ce.subject)"),
    ("1st = 'a'", '"1st" in ce && ce["1st"] == "a"'),
    ("NOT EXISTS 1st", '!("1st" in ce)'),
    ("subject LIKE 'a'", 'has(ce.subject) && ce.subject == "a"'),
    ("subject LIKE 'a%'", 'has(ce.subject) && ce.subject.startsWith("a")'),
    ("subject LIKE '%a'", 'has(ce.subject) && ce.subject.endsWith("a")'),
    ("subject LIKE '%a%'", 'has(ce.subject) && ce.subject.contains("a")'),
    ("subject LIKE '%'", "has(ce.subject)"),
    ("subject LIKE 'a_.\\%%b'", 'has(ce.subject) && ce.subject.matches("(?s)^a.\\\\.%.*b$")'),
    ("subject = 'a' OR subject = 'b'", 'has(ce.subject) && (ce.subject == "a" || ce.subject == "b")'),
    ("type = 'a' AND source = 'b'", 'ce.type == "a" && ce.source == "b"'),
    ("type = 'a' OR source = 'b'", 'ce.type == "a" || ce.source == "b"'),
    (
        "subject = 'a' OR time = 'b'",
        'has(ce.subject) && ce.subject == "a" || has(ce.subject) && has(ce.time) && ce.time == "b"',
    ),
    ("LENGTH(subject) > 3", "has(ce.subject) && sqlGreater(sqlLength(ce.subject), 3) == true"),
    ("CONCAT(type, 'a') = 'ba'", 'sqlConcat([ce.type, "a"]) == "ba"'),
    ("x - 1 < 2", "has(ce.x) && sqlLess(sqlSubtract(ce.x, 1), 2) == true"),
    ("flag", "has(ce.flag) && ce.flag == true"),
    ("type", "false"),
    ("1 + 1", "false"),
    ("LOWER('A') = 'a'", "true"),
    ("1 / 0 = 1 OR type = 'a'", "false"),
    ("type = 'a' OR 1 / 0 = 1", 'ce.type == "a"'),
]


@pytest.mark.parametrize(("text", "cel"), TEXTS)
def test_text(text, cel):
    piece = translate(parse(text))
    assert piece is not None
    assert write_cel(piece.node) == cel


def alternating(depth, first="x = 'a'"):
    text = first
    for turn in range(depth):
        text = f"({text} {'OR' if turn % 2 else 'AND'} y{turn} = 'b')"
    return text[1:-1]


def test_what_would_explode_is_said_by_functions():
    text = alternating(20)
    assert translate(parse(text, DEEP)) is None
    assert compile_filter({"sql": text}).cel.startswith("sqlOr(sqlAnd(")


@examples(300)
@given(nodes)
def test_a_piece_is_as_long_as_its_text_but_for_brackets(node):
    piece = translate(node)
    if piece is not None:
        text = write_cel(piece.node)
        brackets = 2 * sum(1 for _ in nodes_of(piece.node))
        assert len(text) <= piece.length <= len(text) + brackets
        assert read_again(text) == condition(piece.node)


def read_again(text):
    return parse_cel(text, ParseContext("filter", Limits(), parse_filter))


@examples(400)
@given(nodes, st.lists(attributes(), min_size=1, max_size=3))
@example(String("1"), [{}])
@example(Integer(1), [{}])
@example(Minus(Integer(1)), [{}])
@example(Boolean(True), [{}])
def test_clauses_and_functions_mean_the_same_and_google_agrees(node, events):
    piece, called = translate(node), by_functions(node)
    assert read_again(write_cel(called)) == called
    for bound in events:
        truth = evaluate(called, {"ce": bound})
        assert google.evaluate(write_cel(called), {"ce": bound}) is truth
        if piece is not None:
            assert evaluate(piece.condition, {"ce": bound}) is truth
            assert google.evaluate(write_cel(piece.node), {"ce": bound}) is truth


@pytest.mark.parametrize("depth", range(1, 23))
def test_every_depth_has_a_text_that_google_reads(depth):
    compiled = compile_filter({"sql": alternating(depth, "type = 'a'")})
    google.evaluate(compiled.cel, {"ce": {"type": "a", "source": "b"}})


def test_as_many_attributes_as_cesql_may_read_have_a_text():
    text = " OR ".join(f"x{number % 10} = {number}" for number in range(600))
    assert compile_filter({"sql": text}).cel.startswith("sqlOr(")
