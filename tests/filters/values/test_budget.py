import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.filters.budgets import ATTRIBUTES, FAMILIES, LONG, SLOW, event_with

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.backends.predicates import conjunctions_of
from headrace.filters.backends.reference import evaluate, value_of
from headrace.filters.truth import UNKNOWN
from headrace.filters.values.budget import LONGEST_SCANNED, LOOPING_STEPS, LOOPS, STEPS, OverBudget
from headrace.filters.variables import variables_of

every_family = pytest.mark.parametrize("family", FAMILIES, ids=lambda family: family.text[:50])


def truth(text, data):
    return evaluate(compile_filter({"cel": text}).expression, variables_of(event_with(data)))


@every_family
def test_inside_the_budget_it_has_its_value(family):
    assert truth(family.text, family.inside) is True


@every_family
def test_above_the_budget_it_is_unknown_and_so_is_its_negation(family):
    assert truth(family.text, family.above) is UNKNOWN
    assert truth(f"!({family.text})", family.above) is UNKNOWN


@every_family
def test_the_explanation_names_the_budget(family):
    explained = compile_filter({"cel": family.text}).explain(event_with(family.above))
    assert "budget" in str(explained)
    assert "budget" not in str(compile_filter({"cel": family.text}).explain(event_with(family.inside)))


@every_family
def test_an_index_may_take_the_clauses_apart(family):
    conjunctions = conjunctions_of(compile_filter({"cel": family.text}).expression)
    for data, expected in ((family.inside, True), (family.above, False)):
        variables = variables_of(event_with(data))
        assert any(each.holds(variables) for each in conjunctions) is expected


@pytest.mark.parametrize(
    ("text", "data", "reason"),
    [
        ("data.l.all(x, true)", {"l": [1] * LOOPS}, f"it loops {LOOPS} times or more"),
        ("data.l.all(x, x > 0)", {"l": [1] * 9000}, f"the budget of {LOOPING_STEPS} steps"),
        ("data.s.contains('b')", {"s": LONG}, f"the budget of {STEPS} steps"),
    ],
)
def test_the_reason(text, data, reason):
    expression = compile_filter({"cel": text}).expression
    with pytest.raises(OverBudget, match=reason):
        value_of(expression, variables_of(event_with(data)))


def test_clauses_have_budgets_of_their_own():
    data = {"s": "a" * LONGEST_SCANNED, "t": LONG}
    text = " && ".join(f"!data.s.contains('b{number}')" for number in range(20))
    assert truth(text, data) is True
    assert truth(f"{text} && data.t.contains('a')", data) is UNKNOWN
    assert truth("data.t.contains('a') || data.s.contains('a')", data) is True
    assert truth("data.t.contains('a') && data.s.contains('b')", data) is False


def test_the_parts_of_a_conditional_are_clauses():
    data = {"s": "a" * LONGEST_SCANNED}
    contains = "data.s.contains('a')"
    assert truth(f"{contains} ? {contains} : false", data) is True
    assert truth(f"({contains} ? {contains} : false) == true", data) is UNKNOWN


def test_a_large_pattern_counts_as_several_scans_and_may_cost_as_much():
    assert truth(f"!data.s.matches('{SLOW}')", {"s": "ab" * 210}) is UNKNOWN
    assert truth("!data.s.matches('a(?:[ab]?){900}c')", {"s": "ab" * 210}) is True


def test_prefixes_suffixes_and_equality_cost_nothing():
    data = {"s": LONG, "l": [0] * 500_000}
    text = "data.s.startsWith('a') && data.s.endsWith('b') && data.s != 'a' && data.s.match('ab*') && data.l != 1"
    assert truth(text, data) is True
    assert truth("data.s in ['a', 'b'] || has(data.l)", data) is True


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=15, deadline=None)
def test_the_order_of_clauses_changes_nothing(many, few):
    data = {"l": [0] * many * 100, "m": [0] * few * 100, "s": "a" * many * few * 100}
    clauses = ["data.l.exists(x, x == 1)", "data.m.exists(x, x == 1)", "data.s.contains('b')"]
    found = [truth(each, data) for each in clauses]
    assert truth(" || ".join(clauses), data) is truth(" || ".join(reversed(clauses)), data)
    assert (truth(" || ".join(clauses), data) is UNKNOWN) is (UNKNOWN in found)


def test_the_functions_of_cesql():
    text = "CONCAT(" + ", ".join(["LOWER(subject)"] * 100) + ") LIKE '%b%'"
    compiled = compile_filter({"sql": text})
    assert compiled.matches(Event(ATTRIBUTES | {"subject": "abc"}))
    long = Event(ATTRIBUTES | {"subject": "b" * 10_000})
    assert not compiled.matches(long)
    assert not compile_filter({"not": {"sql": text}}).matches(long)
    assert f"the budget of {STEPS} steps" in str(compiled.explain(long))


def test_a_pattern_with_wildcards_is_within_the_budget_only_on_shorter_texts():
    compiled = compile_filter({"sql": f"LOWER(subject) LIKE '%{'_' * 100}z%'"})
    assert compiled.matches(Event(ATTRIBUTES | {"subject": "a" * 200 + "z"}))
    long = Event(ATTRIBUTES | {"subject": "a" * 2000 + "z"})
    assert not compiled.matches(long)
    assert "budget" in str(compiled.explain(long))
