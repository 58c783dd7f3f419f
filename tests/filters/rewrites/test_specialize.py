"""What a clause says of a type simplifies the others, and changes no answer."""

from itertools import combinations

import pytest
from tests.filters.backends.event_tables import table_of

from headrace.events.batch import from_batch
from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.backends.reference import evaluate
from headrace.filters.rewrites.specialize import specialize
from headrace.filters.variables import variables_of
from headrace.matching import Matcher
from headrace.matching.rules.forms import alternatives_of

CLAUSES = [
    "type(data.v) == int",
    "type(data.v) == bool",
    "type(data.v) == string",
    "type(data.v) == double",
    "type(data.v) != int",
    "!(type(data.v) == string)",
    "type(data.v) in [string, int, bool]",
    "type(data.v) in [double]",
    "int(data.v) > 1",
    "int(data.v) != 5",
    "(type(data.v) == bool ? (data.v ? 1 : 0) : int(data.v)) > 0",
    "(type(data.v) == bool ? (data.v ? 1 : 0) : int(data.v)) >= 0",
    "(data.v ? 5 : 2) < 3",
    "data.v.startsWith('5')",
    'data.v.matches("^[0-9]$")',
]
VALUES = [
    "5",
    "1",
    "0",
    "-3",
    "1.0",
    "5.5",
    "9223372036854775807",
    "9223372036854775808",
    "1e400",
    "true",
    "false",
]
VALUES += ['"5"', '"55"', '"x"', '"true"', '""', "null", "[]", "{}", '"\\u0035"']
ATTRIBUTES = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}
EVENTS = [Event(ATTRIBUTES, f'{{"v": {value}}}'.encode()) for value in VALUES]
EVENTS += [Event(ATTRIBUTES, b"{}"), Event(ATTRIBUTES, None)]


def conjunctions():
    clauses = [compile_filter({"cel": each}).expression for each in CLAUSES]
    return [pair for size in (1, 2, 3) for pair in combinations(clauses, size)]


@pytest.mark.parametrize("event", EVENTS, ids=[*VALUES, "absent", "no data"])
def test_the_same_events_satisfy_all_clauses(event):
    variables = variables_of(event)
    for parts in conjunctions():
        made = specialize(parts)
        assert all(evaluate(each, variables) is True for each in parts) == (
            made is not None and all(evaluate(each, variables) is True for each in made)
        )


def test_the_index_finds_the_same_events():
    pairs = [pair for size in (1, 2) for pair in combinations(CLAUSES, size)]
    texts = [" && ".join(f"({each})" for each in pair) for pair in pairs]
    filters = {text: compile_filter({"cel": text}) for text in texts}
    matcher = Matcher()
    matcher.add_many(filters.items())
    rows = table_of(EVENTS)
    expected = [
        [name for name, filter_ in filters.items() if filter_.matches(event)] for event in from_batch(rows)
    ]
    assert matcher.match_batch(rows) == expected
    assert sum(map(len, expected)) > 100


def test_a_comparison_of_numbers_in_sql_is_decided_by_the_index_where_the_attribute_is_one():
    rests = [each.rest for each in alternatives_of(compile_filter({"sql": "attempt > 1"}).expression)]
    assert len(rests) == 2  # no boolean is above 1
    assert rests.count(None) == 1


@pytest.mark.parametrize(
    "value", [True, False, 0, 1, -7, 2**31 - 1, -(2**31), 10**17, 10**18, "1", "x", "true", "-7", ""]
)
def test_extensions_of_every_type_are_read_as_they_are(value):
    texts = [
        "ext > 0",
        "ext < 0",
        "ext = 1",
        "ext = 'true'",
        "ext = true",
        "ext = -7",
        "EXISTS ext",
        "NOT ext",
    ]
    filters = {text: compile_filter({"sql": text}) for text in texts}
    filters |= {
        text: compile_filter({"cel": text}) for text in ("ce.ext == 1", "ce.ext == true", "ce.ext > 99")
    }
    matcher = Matcher()
    matcher.add_many(filters.items())
    rows = table_of([Event({**ATTRIBUTES, "ext": value}, None), Event({**ATTRIBUTES, "other": value}, None)])
    expected = [
        [name for name, filter_ in filters.items() if filter_.matches(event)] for event in from_batch(rows)
    ]
    assert matcher.match_batch(rows) == expected
