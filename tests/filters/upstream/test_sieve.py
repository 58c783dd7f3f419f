"""The quick form of one filter says what the filter says."""

import json

import pytest
from hypothesis import HealthCheck, given
from hypothesis import strategies as st
from tests.examples import examples
from tests.filters.every_dialect import every_event, every_filter

from headrace.events.event import Event
from headrace.filters import compile_filter, union
from headrace.filters.upstream.sieve import Sieve

BASE = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@examples(200, suppress_health_check=list(HealthCheck), deadline=None)
@given(st.lists(every_filter, min_size=1, max_size=3), every_event())
def test_it_says_the_same(specs, event):
    compiled = [compile_filter(spec) for spec in specs]
    joined = compile_filter({"cel": union(compiled).cel})
    for each in (*compiled, joined):
        assert Sieve(each).matches(event) is each.matches(event)


TEXT = (
    'ce.subject in ["a", "b"] && data.n > 1 || ce.subject == "a" && data.n < 0 || ce.type.startsWith("x")'
    ' || ce.type.startsWith("yz") || (ce.kind == "k" || ce.kind == 5) && (data.n == 0 || data.n == 7)'
)
CASES = [
    ({"subject": "a"}, {"n": 2}, True),
    ({"subject": "a"}, {"n": -1}, True),
    ({"subject": "b"}, {"n": -1}, False),
    ({"subject": "c"}, {"n": 2}, False),
    ({}, {"n": 2}, False),
    ({"type": "xy"}, {}, True),
    ({"type": "y"}, {}, False),
    ({"type": "yz"}, {}, True),
    ({"kind": "k"}, {"n": 7}, True),
    ({"kind": 5}, {"n": 0}, True),
    ({"kind": "5"}, {"n": 0}, False),
]


@pytest.mark.parametrize(("attributes", "data", "expected"), CASES)
def test_long_disjunctions(attributes, data, expected):
    event = Event(BASE | attributes, json.dumps(data).encode())
    assert Sieve(compile_filter({"cel": TEXT})).matches(event) is expected
