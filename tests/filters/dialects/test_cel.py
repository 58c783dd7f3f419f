"""What CEL's reader makes of a text, and how it refuses one."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.cel_texts import Grower, seeds

from headrace.errors import FilterError
from headrace.events.event import Event
from headrace.filters import Limits, compile_filter
from headrace.filters.ir.atoms import (
    Comparison,
    Contains,
    EndsWith,
    Has,
    Includes,
    Matches,
    MatchesGlob,
    OneOf,
    Operator,
    StartsWith,
)
from headrace.filters.ir.expression import And, Constant, Not, Or
from headrace.filters.ir.literals import Literal, Uint
from headrace.filters.ir.operands import Path, Text, attribute
from headrace.filters.ir.terms import Call, HasKey, ListOf, Local, Macro, MapOf, Operation, Select, TypeName

A, B = Path(("data", "a")), Path(("data", "b"))
EVENT = Event(attributes={"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, data=b'{"a": 1}')


def tree(text):
    return compile_filter({"cel": text}).expression


TREES = [
    ("true", Constant(value=True)),
    ("data.a", A),
    ("data['a']", A),
    ("!data.a", Not(A)),
    ("!!data.a", A),
    ("!(!data.a)", A),
    ("data.a && (data.b && true)", And((A, B, Constant(value=True)))),
    ("data.a || data.b", Or((A, B))),
    ("data.a == 1", Comparison(A, Operator.EQUAL, Literal(1))),
    ("1 == data.a", Comparison(A, Operator.EQUAL, Literal(1))),
    ("1 < data.a", Comparison(A, Operator.GREATER, Literal(1))),
    ("1u >= data.a", Comparison(A, Operator.LESS_OR_EQUAL, Literal(Uint(1)))),
    ("data.a == -1.5", Comparison(A, Operator.EQUAL, Literal(-1.5))),
    ("data.a == b'\\xff'", Comparison(A, Operator.EQUAL, Literal(b"\xff"))),
    ("data.a == null", Comparison(A, Operator.EQUAL, Literal(None))),
    ("data.a == data.b", Operation("==", (A, B))),
    ("string(data.a) == '1'", Comparison(Text(A), Operator.EQUAL, Literal("1"))),
    ("type == 't'", Comparison(attribute("type"), Operator.EQUAL, Literal("t"))),
    ("has(data.a)", Has(A)),
    ("has(ce.subject)", Has(attribute("subject"))),
    ("'subject' in ce", Has(attribute("subject"))),
    ("'a' in data", Includes(Path(("data",)), Literal("a"))),
    ("data.a in ['x', 1]", OneOf(A, (Literal("x"), Literal(1)))),
    ("data.a in [data.b]", Operation("in", (A, ListOf((B,))))),
    ("data.a.startsWith('x')", StartsWith(A, "x")),
    ("string(data.a).endsWith('x')", EndsWith(Text(A), "x")),
    ("data.a.contains('x')", Contains(A, "x")),
    ("data.a.contains(data.b)", Call("contains", (A, B))),
    ("data.a.matches('x')", Matches(A, "x")),
    ("matches(data.a, 'x')", Matches(A, "x")),
    ("data.a.match('x*')", MatchesGlob(A, "x*")),
    ("size(data.a) == 1", Operation("==", (Call("size", (A,)), Literal(1)))),
    ("data.a.size() == 1", Operation("==", (Call("size", (A,)), Literal(1)))),
    ("data.a[0]", Operation("[]", (A, Literal(0)))),
    ("data.a[0].b", Select(Operation("[]", (A, Literal(0))), "b")),
    ("has(data.a[0].b)", HasKey(Operation("[]", (A, Literal(0))), "b")),
    ("data.a ? data.b : true", Operation("?:", (A, B, Literal(value=True)))),
    ("{'x': data.a}.x", Select(MapOf((Literal("x"),), (A,)), "x")),
    ("type(data.a) == int", Operation("==", (Call("type", (A,)), TypeName("int")))),
    ("data.a.exists(x, x.b)", Macro("exists", A, "x", (Select(Local("x"), "b"),))),
    ("data.a.all(ce, ce)", Macro("all", A, "ce", (Local("ce"),))),
    ("data.a.all(x, true)", Macro("all", A, "x", (Constant(value=True),))),
    (
        "data.a.map(x, x, 1) == []",
        Operation("==", (Macro("map", A, "x", (Local("x"), Literal(1))), ListOf(()))),
    ),
]


@pytest.mark.parametrize(("text", "expected"), TREES)
def test_trees(text, expected):
    assert tree(text) == expected
    assert tree(compile_filter({"cel": text}).cel) == expected


REFUSED = [
    # text, line, column, what the message must say
    ("data.a +", 1, 9, "Syntax error"),
    ("data.a ==\n  foo", 2, 3, "undeclared reference to 'foo'"),
    ("'é😀' == foo", 1, 9, "undeclared reference to 'foo'"),
    ("true &&\r\n foo(1)", 2, 5, "undeclared reference to 'foo'"),
    ("data.lower() == 'a'", 1, 11, "undeclared reference to 'lower'"),
    ("1", 1, 1, "must be a bool, not int"),
    ("[true]", 1, 1, "must be a bool, not list"),
    ("1 < 2.0", 1, 3, "no matching overload"),
    ("collection > 1", 1, 12, "no matching overload"),
    ("data.a.matches('(')", 1, 16, "RE2: missing )"),
    ("data.a.matches(data.b)", 1, 20, "string literal"),
    ("data.a.match(data.b)", 1, 18, "string literal"),
    ("has(data)", 1, 5, "has()"),
    ("data.all(x.y, true)", 1, 11, "simple identifier"),
    ("{'a': 1, 'a': 2} == {}", 1, 10, "repeated"),
    ("google.protobuf.Timestamp{} == data", 1, 1, "messages such as"),
    ("f.type == 'a'", 1, 1, "undeclared reference to 'f'"),
    ("9223372036854775808 == data", 1, 1, "invalid int literal"),
    ("data.?a", 1, 1, "unsupported syntax"),
    ("true \0", 1, 6, "U+0000"),
    ("true &&\n", 2, 1, "Syntax error"),
]


@pytest.mark.parametrize(("text", "line", "column", "says"), REFUSED)
def test_refuses_with_line_column_and_caret(text, line, column, says):
    with pytest.raises(FilterError) as refusal:
        compile_filter([{"cel": text}])
    message = str(refusal.value)
    assert says in message
    assert f"(line {line}, column {column})" in message
    assert refusal.value.path == "filters[0].cel"
    assert "container" not in message
    _, shown, caret = message.rsplit("\n", 2)
    assert shown == f"  {text.split(chr(10))[line - 1].rstrip(chr(13))}"
    assert caret == " " * (column + 1) + "^"


@pytest.mark.parametrize("body", ["", None, 1, [], {"x": "y"}, b"true", "\ud800"])
def test_refuses_what_is_no_text(body):
    with pytest.raises(FilterError):
        compile_filter({"cel": body})


def test_shows_a_part_of_a_long_line():
    with pytest.raises(FilterError) as refusal:
        compile_filter({"cel": f"data.a == '{'x' * 5000}' && foo == '{'y' * 5000}'"})
    message = str(refusal.value)
    assert len(message) < 400
    _, shown, caret = message.rsplit("\n", 2)
    assert shown[caret.index("^") :].startswith("foo")


OVER_LIMITS = [
    ("data.a == 1 || " * 10_000 + "true", "expression", "limit `expression` of 100000"),
    ("(" * 40 + "true" + ")" * 40, "depth", "limit `depth`"),
    ("data" + ".a" * 40, "depth", "limit `depth`"),
    (
        "data.l.all(a, a.all(b, b.all(c, c.all(d, d.all(e, e)))))",
        "macros",
        "5 macros exceed the limit `macros`",
    ),
    ("data.l.all(a, " + " || ".join(["a == 1"] * 40) + ")", "body", "the limit `body` of 100"),
    ("data.s.matches('a{1000}b{1000}')", "pattern", "limit `pattern` of 2000"),
    (" || ".join(f"data.a == {i}" for i in range(1001)), "atoms", "1001 comparisons"),
    (
        "data.a == " + " + ".join(["1"] * 30) + " || " + " || ".join(["data.a + 1 == 2"] * 500),
        "atoms",
        "`atoms`",
    ),
]


@pytest.mark.parametrize(("text", "limit", "says"), OVER_LIMITS)
def test_limits(text, limit, says):
    with pytest.raises(FilterError) as refusal:
        compile_filter({"cel": text})
    assert refusal.value.limit == limit
    assert says in str(refusal.value)
    assert len(str(refusal.value)) < 600


def test_limits_can_be_set():
    for limits, text in (
        (Limits(macros=1), "data.l.all(a, a.all(b, b))"),
        (Limits(pattern=10), "data.s.matches('a{20}')"),
        (Limits(expression=10), "data.a == 1"),
    ):
        with pytest.raises(FilterError):
            compile_filter({"cel": text}, limits=limits)
        compile_filter({"cel": text})


def test_the_text_of_other_dialects_has_limits_too():
    deep: dict[str, Any] = {"exact": {"type": "t"}}
    for _ in range(16):
        deep = {"not": {"all": [{"exact": {"id": "1"}}, deep]}}
    with pytest.raises(FilterError, match="CEL text is nested deeper than the limit `depth`") as refusal:
        compile_filter(deep, limits=Limits(depth=100))
    assert refusal.value.limit == "depth"
    long = {"any": [{"exact": {"subject": f"{i}" + "x" * 2000}} for i in range(60)]}
    with pytest.raises(FilterError, match="`expression`"):
        compile_filter(long)


def test_as_deep_as_google_reads():
    nested = "true"
    for _ in range(15):
        nested = f"data.a && (data.b || ({nested}))"
    with contextlib.suppress(FilterError):
        text = compile_filter({"cel": nested}).cel
        assert compile_filter({"cel": text}).cel == text


@examples(300)
@given(st.text(max_size=40) | st.text("datce.()[]{}!&|=<>+-*/%?:,'\" \n01x", max_size=40))
def test_any_text_is_a_filter_or_a_filter_error(text):
    with contextlib.suppress(FilterError):
        assert compile_filter({"cel": text}).matches(EVENT) in (True, False)


@examples(300)
@given(seeds, st.integers(0, 200), st.text(max_size=3))
def test_a_broken_expression_is_a_filter_or_a_filter_error(seed, position, inserted):
    text = Grower(seed).condition(3)
    for broken in (
        text[:position] + inserted + text[position:],
        text[:position],
        text[:position] + text[position + 1 :],
    ):
        with contextlib.suppress(FilterError):
            assert compile_filter({"cel": broken}).matches(EVENT) in (True, False)
