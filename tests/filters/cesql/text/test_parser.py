import contextlib
import time

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.filters.cesql.strategies import nodes, texts

from headrace.errors import FilterError
from headrace.filters.bounds.limits import Limits
from headrace.filters.cesql import parse, write_cesql
from headrace.filters.cesql.syntax import Attribute, Boolean, Call, In, Integer, Like, Minus, Not, String
from headrace.filters.cesql.text.writer import write_string

ROOMY = Limits(depth=100, atoms=1000, length=100_000)

# What is written, and the canonical text with brackets that show how it was read.
READINGS = [
    ("a and b or c", "a AND b OR c"),
    ("a AND (b OR c)", "a AND (b OR c)"),
    ("(a AND b) AND c", "a AND b AND c"),
    ("a AND (b AND c)", "a AND (b AND c)"),
    ("NOT a = b", "NOT a = b"),
    ("(NOT a) = b", "NOT a = b"),
    ("NOT (a = b)", "NOT (a = b)"),
    ("NOT a LIKE 'x'", "NOT a LIKE 'x'"),
    ("a NOT LIKE 'x'", "NOT (a LIKE 'x')"),
    ("a NOT IN (1,2)", "NOT (a IN (1, 2))"),
    ("a IN (1) IN (TRUE)", "a IN (1) IN (TRUE)"),
    ("a * b LIKE 'x'", "a * b LIKE 'x'"),
    ("(a * b) LIKE 'x'", "(a * b) LIKE 'x'"),
    ("1+2*3", "1 + 2 * 3"),
    ("(1+2)*3", "(1 + 2) * 3"),
    ("1-2-3", "1 - 2 - 3"),
    ("1-(2-3)", "1 - (2 - 3)"),
    ("1 < 2 = true", "1 < 2 = TRUE"),
    ("a <> b", "a != b"),
    ("4 -1", "4 - 1"),
    ("--10", "- -10"),
    ("- 10", "- 10"),
    ("+10", "10"),
    ("exists SUBJECT", "EXISTS subject"),
    ("Left(SUBJECT, 2)", "LEFT(subject, 2)"),
    ("left = 'x'", "left = 'x'"),
    ("concat()", "CONCAT()"),
    ("concat_ws(',')", "CONCAT_WS(',')"),
    ("1st = 'x'", "1st = 'x'"),
    ("\t( (\r\n'it\\'s') )", "'it\\'s'"),
    ('"a\\"b"', "'a\"b'"),
    ('"a\\\'b"', '"a\\\'b"'),
    ("'a\\b\\\\'", "'a\\b\\\\'"),
]


@pytest.mark.parametrize(("text", "canonical"), READINGS)
def test_reading(text, canonical):
    assert write_cesql(parse(text)) == canonical
    assert parse(canonical) == parse(text)


@pytest.mark.parametrize(
    ("text", "node"),
    [
        ("TrUe", Boolean(value=True)),
        ("-2147483648", Integer(-2147483648)),
        ("-x", Minus(Attribute("x"))),
        ("not X", Not(Attribute("x"))),
        ("left(1,'a')", Call("LEFT", (Integer(1), String("a")))),
        ("x like 'A\\%'", Like(Attribute("x"), "A\\%")),
        ("x in (y)", In(Attribute("x"), (Attribute("y"),))),
    ],
)
def test_tree(text, node):
    assert parse(text) == node
    assert hash(parse(text)) == hash(parse(f" ( {text} ) "))


def test_positions():
    assert [parse(" a = 'b'").position, parse(" a").position] == [3, 1]


FAULTS = [
    ("", 0, "the expression ends where a value is expected"),
    (" \n", 0, "the expression ends where a value is expected"),
    ("ABC(", 4, "the expression ends where a value is expected"),
    ("ABC(\n\n", 4, "the expression ends where a value is expected"),
    ("(a", 2, "the expression ends where an operator or `)` is expected"),
    ("a b", 2, "there is b where an operator or the end is expected"),
    ("a = 'b", 4, "a string that starts with ' must end with '"),
    ("a = 'b\\'", 4, "a string that starts with ' must end with '"),
    ("'it''s'", 4, "there is 's' where an operator or the end is expected"),
    ("a == b", 3, "there is = where a value is expected"),
    ("a ! b", 2, "'!' is not allowed in CESQL outside a string"),
    ("a = é", 4, "'é' is not allowed in CESQL outside a string"),
    ("a LIKE b", 7, "the pattern of LIKE must be a string literal"),
    ("a IN ()", 6, "there is ) where a value is expected"),
    ("a IN (1", 7, "the expression ends where `,` or `)` is expected"),
    ("a IN 1", 5, "there is 1 where `(` is expected"),
    ("a NOT b", 2, "there is NOT where an operator or the end is expected"),
    ("a AND", 5, "the expression ends where a value is expected"),
    ("EXISTS 'a'", 7, "an attribute's name consists of letters and digits, not of digits alone"),
    ("EXISTS in", 7, "in is a keyword and can't name an attribute"),
    ("my_name = 1", 0, "an attribute's name consists of letters and digits, not of digits alone"),
    ("f1(2)", 0, "a function's name consists of letters and underscores"),
    ("f(1,)", 4, "there is ) where a value is expected"),
    ("+ 5", 0, "there is + where a value is expected"),
    ("a = 2147483648", 4, "an integer must fit in 32 bits: from -2147483648 to 2147483647"),
    ("- 2147483648", 2, "an integer must fit in 32 bits: from -2147483648 to 2147483647"),
]


@pytest.mark.parametrize(("text", "position", "problem"), FAULTS)
def test_fault(text, position, problem):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert (caught.value.position, caught.value.problem) == (position, problem)
    assert "^" in str(caught.value)


def test_a_fault_draws_line_column_and_caret():
    with pytest.raises(FilterError) as caught:
        parse("type = 'a'\n  AND AND")
    assert str(caught.value) == (
        "there is AND where a value is expected (line 2, column 7)\n    AND AND\n        ^"
    )


LIMITED = [
    ("depth", "(" * 33 + "a" + ")" * 33),
    ("depth", "a" + " + a" * 40),
    ("depth", "NOT " * 40 + "a"),
    ("depth", "- " * 40 + "a"),
    ("depth", "a" + " AND a OR a" * 40),
    ("depth", "a" + " LIKE 'x'" * 40),
    ("depth", "f(" * 40 + ")" * 40),
    ("atoms", "a" + " OR a" * 1000),
    ("length", "'" + "a" * 10_000 + "'"),
]


@pytest.mark.parametrize(("limit", "text"), LIMITED)
def test_limit(limit, text):
    with pytest.raises(FilterError) as caught:
        parse(text)
    assert caught.value.limit == limit


@pytest.mark.parametrize(
    "text", ["a" + " OR a" * 999, "a IN (1" + ",1" * 4000 + ")", "(" * 23 + "a" + ")" * 23]
)
def test_within_the_limits(text):
    assert write_cesql(parse(text))


@given(nodes)
def test_the_canonical_text_reads_back(node):
    text = write_cesql(node)
    read = parse(text, ROOMY)
    assert read == node
    assert write_cesql(read) == text


@given(texts | st.text("\\'\"a", max_size=8))
@example("\\'\\\"")
@example("\\")
def test_a_string_reads_back_or_has_no_literal(text):
    try:
        written = write_string(text)
    except ValueError:
        assert "\\" in text
    else:
        assert parse(written) == String(text)


PIECES = [
    "AND",
    "OR",
    "NOT",
    "LIKE",
    "IN",
    "EXISTS",
    "TRUE",
    "a",
    "1",
    "'x'",
    '"',
    "'",
    "(",
    ")",
    ",",
    "-",
    "=",
    "<",
]


@given(st.text() | st.lists(st.sampled_from([*PIECES, " ", "\n", "\\", "\u2028"])).map(" ".join))
@example("\u2028(")
@example("'\u2028' AND\n")
def test_any_text_is_an_expression_or_refused(text):
    with contextlib.suppress(FilterError):
        expression = parse(text)
        assert parse(write_cesql(expression)) == expression


HUGE = Limits(depth=32, atoms=10**9, length=10**9)
ADVERSARIAL = [
    "(" * 40_000,
    "(" * 20_000 + "a" + ")" * 20_000,
    "NOT " * 20_000 + "a",
    "-" * 40_000 + "1",
    "1" + "+1" * 20_000,
    "a" + " AND a" * 3_000,
    "a" + " AND a OR a" * 5_000,
    "f(" * 20_000,
    "'" + "\\'" * 200_000,
    "'" * 200_001,
    " " * 500_000,
    "9" * 500_000,
    "a IN (" + "1," * 20_000 + "1)",
]


# Far beyond what a filter may hold, so that the time is the algorithm's and not the limit's.
@pytest.mark.parametrize("text", ADVERSARIAL, ids=lambda text: text[:12])
def test_adversarial_text_is_read_or_refused_soon(text):
    started = time.process_time()
    with contextlib.suppress(FilterError):
        parse(text, HUGE)
    assert time.process_time() - started < 2
