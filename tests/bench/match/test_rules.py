import json

import pytest

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace_bench.match.rules import (
    Containing,
    Equal,
    Fitting,
    Prefix,
    Rule,
    Unequal,
    Within,
    Written,
    cel_text,
    filter_of,
    quamina_pattern,
    ruler_pattern,
)
from headrace_bench.match.workloads.table import WORKLOADS

A, B = ("a",), ("top", "b")

SAID = [
    # rule, CEL, event-ruler, quamina, data that fits, data that doesn't
    (Equal(A, "x"), 'data.a == "x"', ["x"], ["x"], {"a": "x"}, {"a": "xx"}),
    (
        Unequal(A, "x"),
        'data.a != "x"',
        [{"anything-but": "x"}],
        [{"anything-but": ["x"]}],
        {"a": "y"},
        {"a": "x"},
    ),
    (
        Prefix(A, "x"),
        'data.a.startsWith("x")',
        [{"prefix": "x"}],
        [{"prefix": "x"}],
        {"a": "xy"},
        {"a": "yx"},
    ),
    (
        Within(A, 1, 3),
        "data.a >= 1 && data.a < 3",
        [{"numeric": [">=", 1, "<", 3]}],
        None,
        {"a": 1},
        {"a": 3},
    ),
    (
        Containing(A, "x"),
        'data.a.contains("x")',
        [{"wildcard": "*x*"}],
        [{"shellstyle": "*x*"}],
        {"a": "yxy"},
        {"a": "yy"},
    ),
    (Fitting(A, "^x.z"), 'data.a.matches("^x.z")', None, None, {"a": "xyz"}, {"a": "zyx"}),
]


@pytest.mark.parametrize(("condition", "cel", "ruler", "quamina", "fits", "not_fits"), SAID)
def test_a_condition_in_every_language(condition, cel, ruler, quamina, fits, not_fits):
    rule = Rule((condition,))
    assert cel_text(rule) == cel
    assert ruler_pattern(rule) == (ruler and {"a": ruler})
    assert quamina_pattern(rule) == (quamina and {"a": quamina})
    assert filter_of(rule).matches(_event(fits))
    assert not filter_of(rule).matches(_event(not_fits))


def test_conditions_are_joined_under_their_fields():
    rule = Rule((Equal(A, "x"), Prefix(B, "y"), Equal(("top", "c"), "z")))
    pattern = {"a": ["x"], "top": {"b": [{"prefix": "y"}], "c": ["z"]}}
    assert ruler_pattern(rule) == quamina_pattern(rule) == pattern
    assert cel_text(rule) == 'data.a == "x" && data.top.b.startsWith("y") && data.top.c == "z"'


def test_a_rule_is_left_out_whole_where_one_condition_has_no_words():
    assert quamina_pattern(Rule((Equal(A, "x"), Within(B, 1, 2)))) is None
    assert ruler_pattern(Rule((Equal(A, "x"), Fitting(B, "y")))) is None


def test_a_written_filter_is_for_headrace_and_cel_only():
    rule = Written({"exact": {"type": "x"}})
    assert filter_of(rule) == compile_filter({"exact": {"type": "x"}})
    assert cel_text(rule) == filter_of(rule).cel
    assert ruler_pattern(rule) is quamina_pattern(rule) is None


@pytest.mark.parametrize("name", [name for name in WORKLOADS if name != "github"])
def test_a_filter_put_together_equals_the_one_compiled_from_its_cel(name):
    for rule in WORKLOADS[name].rules(60, 5):
        assert filter_of(rule) == compile_filter({"cel": cel_text(rule)})


def _event(data):
    attributes = {
        "specversion": "1.0",
        "id": "1",
        "source": "/",
        "type": "t",
        "datacontenttype": "application/json",
    }
    return Event(attributes, json.dumps(data).encode())
