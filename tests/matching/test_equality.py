"""The index against the reference evaluator: no false negative and no false positive, on everything that generators make."""

import json
import random
from collections import Counter
from itertools import combinations
from typing import Any

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.backends.event_tables import table_of
from tests.filters.cel_texts import cel_texts, data_events
from tests.filters.every_dialect import every_event, every_filter
from tests.filters.strategies import expressions, odd_events
from tests.filters.test_cases import CASES, every_case

from headrace.errors import FilterError
from headrace.events.batch import from_batch
from headrace.events.event import Event
from headrace.events.recorded import Recorded
from headrace.filters import compile_filter
from headrace.filters.backends.reference import evaluate
from headrace.filters.filter import Filter
from headrace.filters.ir import atoms
from headrace.filters.ir.expression import And, Not, Or
from headrace.filters.ir.literals import Literal, Uint
from headrace.filters.ir.operands import Path, Text, attribute
from headrace.filters.truth import UNKNOWN
from headrace.filters.variables import variables_of
from headrace.matching import Matcher


def expected(filters, event):
    return [str(number) for number, each in enumerate(filters) if each.matches(event)]


def assert_equal_to_reference(filters, events):
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(filters))
    assert matcher.match(events[0]) == expected(filters, events[0])
    matcher.settle_down()
    rows = table_of(events)
    recorded = from_batch(rows)
    assert matcher.match_batch(events) == [expected(filters, event) for event in events]
    assert [matcher.match(event) for event in events] == [expected(filters, event) for event in events]
    assert matcher.match_batch(rows) == [expected(filters, event) for event in recorded]
    assert matcher.match_batch(rows.slice(1)) == [expected(filters, event) for event in recorded[1:]]


@every_case
def test_cases(case):
    filter_ = compile_filter(case.filter)
    for event, wanted in case.events():
        matcher = Matcher()
        matcher.add("a", filter_)
        assert matcher.match(event) == (["a"] if wanted else [])
        matcher.settle_down()
        assert matcher.match(event) == (["a"] if wanted else [])
        rows = table_of([event])
        assert matcher.match_batch(rows) == [["a"] if filter_.matches(from_batch(rows)[0]) else []]


def test_all_cases_at_once():
    filters = [compile_filter(case.filter) for case in CASES]
    assert_equal_to_reference(filters, [event for case in CASES for event, _ in case.events()])


@examples(150, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, min_size=1, max_size=8), st.lists(every_event(), min_size=1, max_size=4))
def test_every_dialect(specs, events):
    assert_equal_to_reference([compile_filter(spec) for spec in specs], events)


@examples(150, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(expressions, min_size=1, max_size=8), st.lists(odd_events, min_size=1, max_size=4))
def test_trees(trees, events):
    assert_equal_to_reference([Filter(tree) for tree in trees], events)


def is_cel(text):
    try:
        compile_filter({"cel": text})
    except FilterError:
        return False
    return True


@examples(150, suppress_health_check=list(HealthCheck), deadline=None)
@given(
    st.lists(cel_texts.filter(is_cel), min_size=1, max_size=8), st.lists(data_events, min_size=1, max_size=4)
)
def test_generated_cel(texts, events):
    assert_equal_to_reference([compile_filter({"cel": text}) for text in texts], events)


NUMBERS = [
    0, 1, -1, 2, 5, 2**31, 2**53 - 1, 2**53, 2**53 + 1, -(2**53), -(2**53) - 1, 2**62, 2**63 - 1, -(2**63), 0.0, -0.0,
    0.5, 1.0, 1.5, -1.5, 2.0**53, 2.0**53 + 2, 2.0**63, -(2.0**63), 2.0**64, 1e300, -1e300, 5e-324,
]  # fmt: skip
DATA_NUMBERS = [
    *map(json.dumps, NUMBERS),
    "1e400",
    "-1e400",
    "9223372036854775808",
    "-9223372036854775809",
    "123456789012345678901234567890",
]
TEXTS = [
    "",
    "a",
    "aa",
    "ab",
    "abc",
    "b",
    "ba",
    "é",
    "éa",
    'a"b',
    "\\",
    "a\nb",
    "😀",
    "ÿ",
    "z",
    "abcdefghij",
    "cdefg",
    "5",
    "true",
]


def numeric_checks(path):
    for operator in atoms.Operator:
        for number in [*NUMBERS, Uint(3), Uint(2**64 - 1), float("inf"), float("-inf"), float("nan")]:
            yield atoms.Comparison(path, operator, Literal(number))
    yield atoms.OneOf(path, tuple(map(Literal, NUMBERS[::2])))


def text_checks(operand):
    for text in TEXTS:
        for operator in atoms.Operator:
            yield atoms.Comparison(operand, operator, Literal(text))
        yield atoms.StartsWith(operand, text)
        yield atoms.EndsWith(operand, text)
        yield atoms.Contains(operand, text)
        yield atoms.MatchesGlob(operand, f"{text}*")
        yield atoms.MatchesGlob(operand, f"*{text}?")
        yield atoms.Includes(operand, Literal(text))
    yield atoms.OneOf(operand, tuple(map(Literal, TEXTS[::3])))
    for value in (None, True, False, b"a", 5, 1.5):
        for operator in atoms.Operator:
            yield atoms.Comparison(operand, operator, Literal(value))
        yield atoms.Includes(operand, Literal(value))
    yield atoms.Matches(operand, "^a.*b")
    yield atoms.Matches(operand, "[")


def data_event(value):
    return Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, f'{{"v": {value}}}'.encode())


VALUES = [*DATA_NUMBERS, *(json.dumps(text, ensure_ascii=False) for text in TEXTS), *map(json.dumps, TEXTS),
          "null", "true", "false", "[]", "{}", '["a", 1, null, true, 1.0, "\\n", [1]]', '{"a": 1, "5": 2}', '{"a": 1, "a": 2}']  # fmt: skip
EVENTS = [
    *map(data_event, VALUES),
    *(Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}, raw)
      for raw in (None, b"", b"{", b'{"v": 1,}', b'{"v": 1} x', b'{"w": 1}', b"[1]", b'{"v": 1, "v": "a"}', b'{"\\u0076": 2}', b'"a"', b"5", b"\xff")),
    Event({"specversion": "1.0", "id": "1", "source": "/s", "type": "t", "datacontenttype": "text/plain"}, b'{"v": 1}'),
]  # fmt: skip


@pytest.mark.parametrize("checks", [numeric_checks(Path(("data", "v"))), text_checks(Path(("data", "v"))), text_checks(Text(Path(("data", "v"))))],
                         ids=["numbers", "texts", "canonical texts"])  # fmt: skip
def test_every_check_alone_and_negated_on_every_value(checks):
    atoms_ = list(checks)
    assert_equal_to_reference([Filter(tree) for each in atoms_ for tree in (each, Not(each))], EVENTS)


def test_checks_joined_at_random():
    random_ = random.Random(5)
    path = Path(("data", "v"))
    pool = [
        *numeric_checks(path),
        *text_checks(path),
        *text_checks(Text(path)),
        atoms.Has(path),
        atoms.Has(Path(("data", "w"))),
    ]
    pool += [Not(each) for each in pool]

    def tree(depth):
        if depth == 0:
            return random_.choice(pool)
        parts = tuple(tree(depth - 1) for _ in range(random_.randint(2, 3)))
        return random_.choice([And, And, Or])(parts)

    assert_equal_to_reference([Filter(tree(random_.randint(1, 2))) for _ in range(1200)], EVENTS)


def test_recorded_events_know_their_channel():
    rows = table_of([data_event(5)])
    filters = [
        compile_filter({"cel": text})
        for text in ('tenant == "a"', 'collection == "b"', "publishTime > 0", 'tenant == "b"')
    ]
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(filters))
    assert matcher.match_batch(rows) == [["0", "1", "2"]]
    assert matcher.match(from_batch(rows)[0]) == ["0", "1", "2"]
    assert isinstance(from_batch(rows)[0], Recorded)
    assert matcher.match(data_event(5)) == []


def test_values_too_long_for_a_clause_are_unknown():
    path = Path(("data", "v"))
    atoms_: list[Any] = [
        atoms.Contains(path, "b"),
        atoms.Contains(path, "ab"),
        atoms.Matches(path, "a*b"),
        atoms.Matches(path, "(a|b)*b" * 20),
        atoms.MatchesGlob(path, "*b*"),
        atoms.Includes(path, Literal("b")),
        atoms.Includes(path, Literal("b" * 100)),
        atoms.Includes(path, Literal(5)),
    ]
    values = [
        *("a" * count + "b" for count in (99, 9_999, 127_999, 128_000, 300_000)),
        "é" * 127_999 + "b",
        "é" * 128_000 + "b",
        *(["a"] * count + ["b", "b" * 100, 5] for count in (10, 3_000, 3_900, 15_000, 15_999, 20_000)),
    ]
    filters = [Filter(tree) for each in atoms_ for tree in (each, Not(each), And((each, atoms.Has(path))))]
    assert_equal_to_reference(
        filters, [data_event(json.dumps(value, ensure_ascii=False)) for value in values]
    )


def test_filters_that_only_their_cost_keeps_from_matching_are_told_of():
    path = Path(("data", "v"))
    of_texts: list[Any] = [
        atoms.Contains(path, "b"),
        atoms.Contains(path, "ab"),
        atoms.Matches(path, "a*b"),
        atoms.Matches(path, "(a|b)*b" * 20),
    ]
    of_lists: list[Any] = [atoms.Includes(path, Literal(value)) for value in ("b", "b" * 100, 5)]
    glob: Any = atoms.MatchesGlob(path, "*b*")
    here, elsewhere = (
        atoms.Comparison(attribute("type"), atoms.Operator.EQUAL, Literal(text)) for text in "tu"
    )
    filters = [
        Filter(tree)
        for each in (*of_texts, *of_lists)
        for tree in (each, Not(each), And((each, here)), And((each, elsewhere)), Or((each, here)))
    ]
    filters += [Filter(And((here, *pair))) for pair in combinations([*of_texts, glob], 2)]
    filters += [Filter(And(pair)) for pair in combinations(of_lists, 2)]
    values = [
        *("a" * count + "b" for count in (99, 9_999, 127_999, 128_000)),
        "é" * 127_999 + "b",
        "é" * 128_000 + "b",
        *(["a"] * count + ["b", "b" * 100, 5] for count in (3_000, 3_900, 15_999)),
    ]
    events = [data_event(json.dumps(value, ensure_ascii=False)) for value in values]
    wanted = [overruns_by_reference(filters, event) for event in events]
    assert [len(each) for each in wanted].count(0) == 2
    matcher = Matcher()
    matcher.add_many((str(number), each) for number, each in enumerate(filters))
    matcher.settle_down()
    for event, expected_ in zip(events, wanted, strict=True):
        matcher.match(event)
        assert {each.subscription: each.reason for each in matcher.take_overruns()} == expected_
    matcher.match_batch(events)
    times = Counter(subscription for each in wanted for subscription in each)
    assert {each.subscription: each.times for each in matcher.take_overruns()} == times


def overruns_by_reference(filters, event):
    """Return why each filter costs too much that nothing but this keeps from matching."""
    found = {}
    for number, each in enumerate(filters):
        overruns: list[str] = []
        if evaluate(each.expression, variables_of(event), overruns) is UNKNOWN and overruns:
            found[str(number)] = overruns[0]
    return found
