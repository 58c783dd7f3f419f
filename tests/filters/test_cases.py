"""The case file, on the reference evaluator and the canonical text."""

import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from headrace.events.event import Event
from headrace.filters import compile_filter
from headrace.filters.truth import UNKNOWN

DEFAULTS = {"specversion": "1.0", "id": "1", "source": "/s", "type": "t"}


@dataclass(frozen=True)
class Case:
    name: str
    filter: Any
    cel: str
    match: tuple[dict[str, Any], ...] = ()
    drop: tuple[dict[str, Any], ...] = ()

    def events(self) -> list[tuple[Event, bool]]:
        return [
            (Event(attributes=DEFAULTS | attributes), expected)
            for expected, events in ((True, self.match), (False, self.drop))
            for attributes in events
        ]


CASES = [Case(**each) for each in tomllib.loads(Path(__file__).with_name("cases.toml").read_text())["case"]]

every_case = pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)


@every_case
def test_reference_evaluator(case):
    compiled = compile_filter(case.filter)
    assert case.events()
    for event, expected in case.events():
        assert compiled.matches(event) is expected, event


@every_case
def test_canonical_text(case):
    assert compile_filter(case.filter).cel == case.cel


@every_case
def test_explanation_has_the_value_of_the_filter(case):
    compiled = compile_filter(case.filter)
    for event, expected in case.events():
        explanation = compiled.explain(event)
        assert (explanation.value is True) is expected
        assert str(explanation).startswith(("true: ", "false: ", "unknown: "))


def test_a_map_is_unknown_rather_than_false():
    event = Event(attributes={**DEFAULTS, "nested": {"a": 1}})
    assert compile_filter({"exact": {"nested": "x"}}).explain(event).value is UNKNOWN


def test_names_of_cases_are_unique():
    assert len({case.name for case in CASES}) == len(CASES)
