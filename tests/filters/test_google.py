"""The reference evaluator and the canonical text against Google's evaluator, in all three truth values."""

import re

import pytest
from hypothesis import HealthCheck, assume, given
from tests.examples import examples
from tests.filters import google
from tests.filters.cel_texts import cel_texts, data_events
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import events, expressions, filters, odd_events
from tests.filters.test_cases import every_case

from headrace.errors import FilterError
from headrace.filters import compile_filter
from headrace.filters.backends.cel import write_cel
from headrace.filters.backends.reference import evaluate
from headrace.filters.variables import variables_of

TYPE_VARIABLE = re.compile(r"\btype\b(?!\()")


def compiled_or_dropped(text):
    try:
        return compile_filter({"cel": text})
    except FilterError:
        assume(False)
        raise


@every_case
def test_cases(case):
    compiled = compile_filter(case.filter)
    for event, expected in case.events_within_budget():
        variables = variables_of(event)
        truth = google.evaluate(compiled.cel, variables)
        assert truth is evaluate(compiled.expression, variables), event
        assert (truth is True) is expected, event


@every_case
def test_the_text_of_a_case_reads_back(case):
    text = compile_filter(case.filter).cel
    assert compile_filter({"cel": text}).cel == text


@examples(1000, suppress_health_check=list(HealthCheck))
@given(cel_texts, data_events)
def test_generated_expressions(text, event):
    compiled = compiled_or_dropped(text)
    variables = variables_of(event)
    try:
        canonical = google.evaluate(compiled.cel, variables)
        # `type` is a variable in a filter and a type in CEL: the text itself can only be asked without it.
        meant = canonical if TYPE_VARIABLE.search(text) else google.evaluate(text, variables)
    except google.GaveUp:
        assume(False)
        raise
    assert canonical is meant
    assert evaluate(compiled.expression, variables) is meant


@examples(500, suppress_health_check=list(HealthCheck))
@given(cel_texts)
def test_generated_texts_read_back(text):
    canonical = compiled_or_dropped(text).cel
    assert compile_filter({"cel": canonical}).cel == canonical


@examples(500, suppress_health_check=list(HealthCheck), deadline=None)
@given(every_filter, every_event())
def test_every_dialect(spec, event):
    compiled, variables = compile_filter(spec), variables_of(event)
    ours = evaluate(compiled.expression, variables)
    assert compiled.matches(event) is (ours is True)
    assert compiled.explain(event).value is ours
    assert compile_filter({"cel": compiled.cel}).cel == compiled.cel
    try:
        assert google.evaluate(compiled.cel, variables) is ours
    except google.GaveUp:
        assume(False)


@given(filters, events())
def test_the_subscriptions_dialects(spec, event):
    compiled, variables = compile_filter(spec), variables_of(event)
    assert google.evaluate(compiled.cel, variables) is evaluate(compiled.expression, variables)
    assert compile_filter({"cel": compiled.cel}).expression == compiled.expression


@examples(300)
@given(expressions, odd_events)
def test_generated_trees(expression, event):
    variables = variables_of(event)
    assert google.evaluate(write_cel(expression), variables) is evaluate(expression, variables)


def answer(text):
    expression = compile_filter({"cel": text}).expression
    return google.evaluate(text, {}), evaluate(expression, {})


CONSTANT_TEXTS = [line for line in """
1/0 == 1 || true
int("9223372036854775808") == 1
int(" 1") == 1
int("+1") == 1
int("") == 1
int(1.9) == 1
int(-1.9) == -1
int(9223372036854775807.0) == 1
int(timestamp("1969-12-31T23:59:59.5Z")) == -1
int(dyn(true)) == 1
int(-9223372036854775808.0) == 1
int(double("nan")) == 0
uint("+1") == 1u
uint("-0") == 0u
uint(1.5) == 1u
uint(-0.5) == 0u
uint(18446744073709549568.0) > 1u
uint(-1) == 1u
uint(1) - uint(2) == 0u
18446744073709551615u + 1u == 0u
5u % 3u == 2u
1u / 0u == 1u
5 % -3 == 2
-5 % 3 == -2
-5 / 3 == -1
-9223372036854775808 / -1 == 1
-9223372036854775808 % -1 == 0
9223372036854775807 + 1 > 0
9223372036854775807 * 2 > 0
-(-9223372036854775808) > 0
1.0 / 0.0 > 1e300
0.0 / 0.0 == 0.0 / 0.0
1.0 / -0.0 < 0.0
dyn(1) + dyn(1.0) == 2.0
dyn(1) == 1u
dyn(1u) < 2.5
dyn(-1) < 1u
dyn(9007199254740993) == 9007199254740992.0
dyn(9223372036854775807) < 9223372036854775808.0
dyn(null) < dyn(null)
false < true
b"a" < b"b"
dyn([1]) < dyn([2])
[1] == [dyn(1.0)]
{"a": 1} == {"a": dyn(1u)}
{"a": 1, "b": 2} == {"b": 2, "a": 1}
[1] + [2] == [1, 2]
b"a" + b"b" == b"ab"
{dyn(1): 2}[dyn(1.0)] == 2
{1: 2}[dyn(1u)] == 2
dyn(1.5) in {1: 1}
dyn(1.0) in {1: 1}
dyn(null) in {1: 1}
[1, 2][dyn(0.0)] == 1
[1, 2][dyn(0.5)] == 1
[1][5] == 1
[1][-1] == 1
dyn("a")[0] == "a"
{"a": 1}.b == 1
{true: 1}[true] == 1
{dyn(true): 1}[dyn(1)] == 1
has({"a": null}.a)
has({"a": 1}.b)
has(dyn([1]).a)
has({"a": dyn({"b": 1})}.a.b)
has({}.a.b)
{dyn(1.5): 2} == {}
"a" in ["a", string(1/0)]
double("nan") in [double("nan")]
double("nan") != double("nan")
double(".5") == 0.5
double("5.") == 5.0
double("0x1p3") == 8.0
double("1_0") == 10.0
double(" 1 ") == 1.0
double("1e400") > 1e308
double("INF") > 1e308
string(1.0) == "1"
string(-0.0) == "-0"
string(123456789.0) == "1.23456789e+08"
string(b"\\xff") == ""
string(b"abc") == "abc"
string(timestamp("2020-01-01T00:00:00.9Z")) == "2020-01-01T00:00:00.900Z"
string(timestamp("2020-01-01T00:00:00.123456789Z")) == "2020-01-01T00:00:00.123456789Z"
string(timestamp("0001-01-01T00:00:00Z")) == "0001-01-01T00:00:00Z"
string(duration("1.5s")) == "1.500s"
string(duration("-1.5s")) == "-1.500s"
string(duration("1us")) == "0.000001s"
string(duration("100h")) == "360000s"
bool("t")
bool("T")
bool("0")
bool("yes")
bytes("é") == b"\\303\\251"
size("é😀") == 2
size(b"\\xff") == 1
size({"a": 1}) == 1
size(dyn(1)) == 1
timestamp("2020-01-01t00:00:00z") == timestamp(1577836800)
timestamp("2020-01-01T00:00:60Z") == timestamp("2020-01-01T00:01:00Z")
timestamp("2020-01-01T00:00:61Z") == timestamp(0)
timestamp("2020-01-01T00:00:00+02:00") == timestamp("2019-12-31T22:00:00Z")
timestamp("2020-01-01T00:00:00+0200") == timestamp("2019-12-31T22:00:00Z")
timestamp("2020-01-01T00:00:00+25:00") == timestamp(0)
timestamp("2020-02-30T00:00:00Z") == timestamp(0)
timestamp("2020-01-01") == timestamp(0)
timestamp("0000-01-01T00:00:00Z") == timestamp(0)
timestamp("20200-01-01T00:00:00Z") == timestamp(0)
timestamp(253402300800) == timestamp(0)
timestamp(-62135596800) == timestamp("0001-01-01T00:00:00Z")
timestamp("9999-12-31T23:59:59Z") + duration("1s") == timestamp(0)
timestamp("2020-01-01T00:00:00Z") - timestamp("2019-01-01T00:00:00Z") == duration("8760h")
timestamp(1) - duration("1s") == timestamp(0)
duration("1s") + timestamp(1) == timestamp(2)
duration("1h1h") == duration("2h")
duration("1m1h") == duration("3660s")
duration(".5s") == duration("500ms")
duration("5.s") == duration("5s")
duration("+1s") == duration("1s")
duration("0") == duration("0s")
duration("1") == duration("1s")
duration("1 s") == duration("1s")
duration("1d") == duration("24h")
duration("315576000000s") > duration("1s")
duration("315576000001s") > duration("1s")
duration("315576000000s") + duration("315576000000s") > duration("0")
duration("1h2m3.5s").getMilliseconds() == 500
duration("-1.5s").getMilliseconds() == -500
duration("3700s").getHours() == 1
duration("3700s").getMinutes() == 61
duration("-90s").getMinutes() == -1
duration("3.7s").getSeconds() == 3
timestamp("2020-01-01T00:00:00.123456789Z").getMilliseconds() == 123
timestamp("1969-12-31T23:59:59.5Z").getMilliseconds() == 500
timestamp("1969-12-31T23:59:59.5Z").getSeconds() == 59
timestamp(1).getDayOfWeek() == 4
timestamp(1).getDayOfYear() == 0
timestamp(1).getDayOfMonth() == 0
timestamp(1).getDate() == 1
timestamp(1).getMonth() == 0
timestamp(1).getFullYear() == 1970
timestamp("2020-01-01T00:00:00Z").getHours("America/New_York") == 19
timestamp("2020-07-01T00:00:00Z").getHours("America/New_York") == 20
timestamp("2020-01-01T00:00:00Z").getHours("+02:30") == 2
timestamp("2020-01-01T00:00:00Z").getMinutes("-00:30") == 30
timestamp("2020-01-01T00:00:00Z").getHours("05:00") == 5
timestamp("2020-01-01T00:00:00Z").getHours("bad") == 5
timestamp("2020-01-01T00:00:00Z").getHours("") == 0
timestamp("2020-01-01T00:00:00Z").getMilliseconds("bad") == 0
dyn(timestamp(1)) == 1
timestamp(1) in [timestamp(1)]
type(timestamp(1)) == google.protobuf.Timestamp
type(duration("1s")) == google.protobuf.Duration
type(1) == int && type(1u) == uint && type(1.0) == double && type("") == string && type(b"") == bytes
type(null) == null_type && type([]) == list && type({}) == map && type(true) == bool
type(int) == type(string)
"a\\nb".matches("a.b")
"abc".matches("^b")
"é".matches("^.$")
"".matches("")
"abc".match("a*c")
"a\\nc".match("a*c")
"abc".match("a[!b]c")
dyn(1).startsWith("a")
true ? true : 1/0 == 1
1/0 == 1 ? true : false
dyn(null) ? true : false
dyn(1) && false
false && dyn(1)
dyn(1) || true
dyn(1) && true
!dyn(1)
-dyn(true) == 1
[1, 2].map(i, i * 2) == [2, 4]
[1, 2, 3].map(i, i > 1, i * 2) == [4, 6]
[1, 2].filter(i, i > 1) == [2]
[1, 1].exists_one(i, i == 1)
[1, dyn("a")].exists_one(i, i > 0)
[1, dyn("a")].all(i, i > 1)
[dyn("a"), 1].all(i, i > 1)
[dyn("a"), 1].all(i, i > 0)
[dyn("a"), 1].exists(i, i > 0)
[dyn("a"), 1].exists(i, i > 1)
[dyn(true), 1].all(x, x)
dyn("abc").all(x, true)
{"a": 1}.all(k, k == "a")
{1: 2, 2: 3}.exists(k, k == 2)
[1, 2, 3].map(x, 1/0) == []
[].map(x, 1/0) == []
[dyn(1)].filter(x, x) == []
[dyn(1)].map(x, x, 2) == []
[[1]].all(x, x.all(y, y == 1))
[1].all(ce, ce == 1)
[1].all(x, [2].all(x, x == 2))
""".splitlines() if line]  # fmt: skip


@pytest.mark.parametrize("text", CONSTANT_TEXTS)
def test_constant_expressions(text):
    meant, ours = answer(text)
    assert ours is meant


@pytest.mark.parametrize("size", [9998, 9999, 10_000, 10_001])
@pytest.mark.parametrize("text", ["data.all(i, true)", "data.exists(i, i == 0)", "data.exists(i, false)"])
def test_the_budget_of_a_macro(text, size):
    variables = {"data": list(range(size))}
    ours = evaluate(compile_filter({"cel": text}).expression, variables)
    try:
        assert google.evaluate(text, variables) is ours
    except google.GaveUp:
        assert ours not in (True, False)


def test_bodies_that_cost_more_are_unknown_earlier():
    """The one place where Google's evaluator, which counts loops but not what happens in them, says more."""
    text, variables = "data.exists(i, i < 0)", {"data": list(range(5001))}
    assert google.evaluate(text, variables) is False
    assert evaluate(compile_filter({"cel": text}).expression, variables) not in (True, False)


def test_the_budget_counts_the_macros_inside():
    expression = compile_filter({"cel": "data.all(i, data.all(j, true))"}).expression
    assert evaluate(expression, {"data": list(range(99))}) is True
    assert evaluate(expression, {"data": list(range(100))}) not in (True, False)
